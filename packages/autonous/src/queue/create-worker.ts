import { createRuntime } from "@autonous/runtime";
import type { Runtime, RuntimeOptions, Tool } from "@autonous/runtime";
import { createReverseThinker } from "../agent/reverse-thinking.ts";
import type { ModelProvider } from "../model/provider.ts";
import { toolMemory } from "../store/tool-memory.ts";
import { runTask } from "./run-task.ts";
import type { RunTaskOptions, TaskLimits } from "./run-task.ts";
import { Worker } from "./worker.ts";
import type { WorkerOptions } from "./worker.ts";

export interface WorkerParts extends Omit<WorkerOptions, "runTask"> {
  readonly provider: ModelProvider;
  /** Where its tasks work and what they may do. The record goes to the store. */
  readonly runtime: RuntimeOptions;
  /** Tools beside the built-in ones. */
  readonly tools?: readonly Tool[];
  readonly limits: TaskLimits;
  readonly readAsking?: RunTaskOptions["readAsking"];
  readonly onOutput?: RunTaskOptions["onOutput"];
  /** The folder, relative to the working folder, that files go into which come with tasks. Default: "inbox". */
  readonly inbox_folder?: string;
}

/** A worker that does its tasks with the agent, each in a runtime whose record is behind the task's lease. */
export function createWorker({
  provider,
  runtime: options,
  tools = [],
  limits,
  readAsking,
  onOutput,
  inbox_folder = "inbox",
  ...parts
}: WorkerParts): Worker {
  const { store, onRecorded } = parts;
  return new Worker({
    ...parts,
    runTask: (lease, signal) =>
      runTask(lease, signal, {
        store,
        provider,
        limits,
        ...(readAsking === undefined ? {} : { readAsking }),
        ...(onOutput === undefined ? {} : { onOutput }),
        inbox: { cwd: options.cwd ?? options.roots[0] ?? "/", folder: inbox_folder },
        clock: Date.now,
        openRuntime: async ({ task }, more = []) => {
          const runtime: Runtime = await createRuntime({
            ...options,
            run_id: task.run_id,
            openJournal: (run_id) => Promise.resolve(store.journal(run_id, lease)),
            approvals: store.approvals,
            quotas: store.quotas,
            memory: toolMemory((work) => work(store.memory)),
            session: task.lane,
            // The answer may take hours: the task waits without a worker. A call whose arguments the record does not keep
            // could not be made then.
            onReverseThinking:
              options.onReverseThinking ??
              createReverseThinker({ provider, redactValue: (value) => runtime.redactValue(value), signal }),
            onApproval: ({ replay }) => (replay === "" ? null : "parked"),
            onEvent: onRecorded,
          });
          for (const tool of [...tools, ...more]) runtime.register(tool);
          return runtime;
        },
      }),
  });
}
