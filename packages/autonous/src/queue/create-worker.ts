import { createRuntime } from "@autonous/runtime";
import type { Runtime, RuntimeOptions, Tool } from "@autonous/runtime";
import { createReverseThinker } from "../agent/reverse-thinking.ts";
import type { ModelProvider } from "../model/provider.ts";
import { toolMemory } from "../store/tool-memory.ts";
import { runTask } from "./run-task.ts";
import type { RunTaskOptions, TaskLimits } from "./run-task.ts";
import { Worker } from "./task-worker.ts";
import type { WorkerOptions } from "./task-worker.ts";

export interface WorkerParts extends Omit<WorkerOptions, "runTask"> {
  readonly provider: ModelProvider;
  /** Where its tasks work and what they may do. Events are recorded in the store. */
  readonly runtime: RuntimeOptions;
  /** Additional tools. */
  readonly tools?: readonly Tool[];
  readonly limits: TaskLimits;
  readonly readAsking?: RunTaskOptions["readAsking"];
  readonly onOutput?: RunTaskOptions["onOutput"];
  /** Folder for files that come with tasks, relative to the working folder. Default: "inbox". */
  readonly inbox_folder?: string;
}

/** A worker that runs its tasks with the agent, each in a runtime whose journal is fenced by the task's lease. */
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
            // The answer may take hours, so the task waits without a worker. A call whose arguments are not stored
            // could not be made after the answer.
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
