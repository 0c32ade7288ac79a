import { createRuntime } from "@autonous/runtime";
import type { RuntimeOptions, Tool } from "@autonous/runtime";
import type { ModelProvider } from "../model/provider.ts";
import { runTask } from "./run-task.ts";
import type { TaskLimits } from "./run-task.ts";
import { Worker } from "./worker.ts";
import type { WorkerOptions } from "./worker.ts";

export interface WorkerParts extends Omit<WorkerOptions, "runTask"> {
  readonly provider: ModelProvider;
  /** Where its tasks work and what they may do. The record goes to the store. */
  readonly runtime: RuntimeOptions;
  /** Tools beside the built-in ones. */
  readonly tools?: readonly Tool[];
  readonly limits: TaskLimits;
}

/** A worker that does its tasks with the agent, each in a runtime whose record is behind the task's lease. */
export function createWorker({ provider, runtime: options, tools = [], limits, ...parts }: WorkerParts): Worker {
  const { store, onRecorded } = parts;
  return new Worker({
    ...parts,
    runTask: (lease, signal) =>
      runTask(lease, signal, {
        store,
        provider,
        limits,
        clock: Date.now,
        openRuntime: async ({ task }) => {
          const runtime = await createRuntime({
            ...options,
            run_id: task.run_id,
            openJournal: (run_id) => Promise.resolve(store.journal(run_id, lease)),
            onEvent: onRecorded,
          });
          for (const tool of tools) runtime.register(tool);
          return runtime;
        },
      }),
  });
}
