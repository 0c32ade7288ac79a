import type { BreakerState } from "../model/failures/circuit-breaker.ts";

/** The last line that a running call has printed. Redacted; on no record. */
export interface PrintedLine {
  readonly task_id: string;
  readonly tool_call_id: string;
  readonly line: string;
}

/** A tool as people see it in a list. */
export interface ListedTool {
  readonly name: string;
  readonly description: string;
}

/** What the worker tells its supervisor. */
export type FromWorker =
  /** Its loop turns and the store answers it: it does not hang. */
  | { readonly type: "alive" }
  /** Something was committed that others may be waiting for. */
  | { readonly type: "recorded" }
  /** A task was done, however it ended: this worker works. */
  | { readonly type: "finished" }
  /** A circuit breaker of its opened, closed, or lets one call through on trial. */
  | { readonly type: "breaker"; readonly breaker: BreakerState }
  /** What a command of its printed last. */
  | { readonly type: "output"; readonly output: PrintedLine }
  /** The tools that modules add to its tasks. Modules are code of the user's: only the worker loads them. */
  | { readonly type: "module_tools"; readonly tools: readonly ListedTool[] };

/** What the supervisor tells its worker. */
export type ToWorker =
  /** There may be a task. */
  | { readonly type: "wake" }
  /** Finish the task in hand and end. */
  | { readonly type: "drain" };

/** The variable that gives a worker the name under which its supervisor knows it. */
export const WORKER_NAME = "AUTONOUS_WORKER_NAME";
