import type { BreakerState } from "../model/failures/circuit-breaker.ts";

/** The last line that a running call has printed. Redacted; not recorded. */
export interface PrintedLine {
  readonly task_id: string;
  readonly tool_call_id: string;
  readonly line: string;
}

/** A tool as listed for users. */
export interface ListedTool {
  readonly name: string;
  readonly description: string;
}

/** Messages from the worker to its supervisor. */
export type FromWorker =
  /** Heartbeat: the event loop runs and the store answers. */
  | { readonly type: "alive" }
  /** An event was committed that other parts may wait for. */
  | { readonly type: "recorded" }
  /** A task ended, with any outcome: the worker works. */
  | { readonly type: "finished" }
  /** A circuit breaker opened, closed, or became half-open. */
  | { readonly type: "breaker"; readonly breaker: BreakerState }
  /** The last line that a command printed. */
  | { readonly type: "output"; readonly output: PrintedLine }
  /** The tools that modules add. Modules are user code: only the worker loads them. */
  | { readonly type: "module_tools"; readonly tools: readonly ListedTool[] };

/** Messages from the supervisor to its worker. */
export type ToWorker =
  /** A task may be waiting. */
  | { readonly type: "wake" }
  /** Finish the running tasks and exit. */
  | { readonly type: "drain" };

/** Environment variable with the worker's name. */
export const WORKER_NAME = "AUTONOUS_WORKER_NAME";
