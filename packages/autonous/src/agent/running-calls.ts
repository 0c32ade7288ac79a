import type { CallOptions } from "@autonous/runtime";
import type { Run } from "./agent-run.ts";

/** The origin of a running call. */
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

/** Registers running calls of a run, until the returned function is called. */
export function trackCalls(run: Run, requests: readonly Request[]): () => void {
  for (const { tool_call_id, parent_id } of requests) underWay.set(tool_call_id, { run, parent_id });
  return () => {
    for (const { tool_call_id } of requests) underWay.delete(tool_call_id);
  };
}

/** The run of this process that a call belongs to: it pays for model requests about the call. */
export function runningCall(tool_call_id: string): RunningCall | undefined {
  return underWay.get(tool_call_id);
}

/** The caller of a run's calls: the model, on behalf of the task's user. */
export function callerOf({
  options: { task },
  provider,
}: Run): Pick<CallOptions, "user" | "chat" | "channel"> & { readonly model: string } {
  const { chat, user, channel } = task;
  return {
    ...(chat === undefined ? {} : { chat }),
    ...(user === undefined ? {} : { user }),
    ...(channel === undefined ? {} : { channel }),
    model: provider.name,
  };
}
