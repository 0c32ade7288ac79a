import type { Run } from "./agent-run.ts";

/** Who asked for a call. */
interface RunningCall {
  readonly run: Run;
  /** `event_id` of the turn's start. */
  readonly parent_id: string;
}

const underWay = new Map<string, RunningCall>();

interface Request {
  readonly tool_call_id: string;
  readonly parent_id: string;
}

/** Notes that a run has calls under way, until the function that it gives is called. */
export function trackCalls(run: Run, requests: readonly Request[]): () => void {
  for (const { tool_call_id, parent_id } of requests) underWay.set(tool_call_id, { run, parent_id });
  return () => {
    for (const { tool_call_id } of requests) underWay.delete(tool_call_id);
  };
}

/** The run of this process that a call belongs to: what is asked of the model about it is paid by that run. */
export function runningCall(tool_call_id: string): RunningCall | undefined {
  return underWay.get(tool_call_id);
}
