import type { ToolCallResult } from "@autonous/runtime";
import type { RequestedCall } from "./replies/requested-calls.ts";
import { callerOf, trackCalls } from "./running-calls.ts";
import { recordSkippedCall, resultOfEvent } from "./recorded-result.ts";
import type { RecordedCall } from "./resume.ts";
import type { Run } from "./agent-run.ts";

interface CallRound {
  readonly calls: readonly RequestedCall[];
  /** `event_id` of the turn's start. */
  readonly parent_id: string;
  /** The calls were requested before a crash; their arguments are the recorded ones. */
  readonly isFromRecord: boolean;
}

interface SettledCall {
  readonly call: RequestedCall;
  readonly result: ToolCallResult;
}

/**
 * Settles every call of a reply and returns the results in the requested order. A call that ended before is not run
 * again; one that had started, or cannot be run from the record, gets `Interrupted`; the others go through the gate
 * (spec 4, Durable).
 */
export async function settleCalls(run: Run, round: CallRound): Promise<readonly SettledCall[]> {
  const results = new Map<RequestedCall, ToolCallResult>();
  const open: RequestedCall[] = [];
  for (const call of round.calls) {
    const result = await settleWithoutRun(run, call, round);
    if (result === undefined) open.push(call);
    else results.set(call, result);
  }
  const made = open.length === 0 ? [] : await makeCalls(run, open, round.parent_id);
  for (const { call, result } of made) results.set(call, result);
  return round.calls.map((call) => ({ call, result: requireResult(results.get(call), call.tool_call_id) }));
}

async function makeCalls(
  run: Run,
  calls: readonly RequestedCall[],
  parent_id: string,
): Promise<readonly SettledCall[]> {
  const { runtime } = run.options;
  await run.enter("tool_round");
  const { trace_id, task_id, signal } = run;
  const about = { trace_id, task_id, parent_id, run_id: runtime.run_id };
  const requests = calls.map(({ tool_call_id, name, arguments: args }) => ({ tool_call_id, name, args, ...about }));
  const caller = callerOf(run);
  const { onProgress, callSignal } = run.options;
  const progress = onProgress === undefined ? {} : { onProgress };
  const stops = callSignal === undefined ? [signal] : [signal, callSignal()];
  const leave = trackCalls(run, requests);
  const results = await run.meter
    .waiting((timeIsOver) =>
      runtime.callAll(requests, { signal: AbortSignal.any([...stops, timeIsOver]), ...caller, ...progress }),
    )
    .finally(leave);
  return calls.map((call, index) => ({ call, result: requireResult(results[index], call.tool_call_id) }));
}

/** The runtime returns a result for every call. */
function requireResult(result: ToolCallResult | undefined, tool_call_id: string): ToolCallResult {
  if (result === undefined) throw new Error(`The call "${tool_call_id}" was made and has no result`);
  return result;
}

/** The result of a call that must not be run now; undefined if it must. */
async function settleWithoutRun(run: Run, call: RequestedCall, round: CallRound): Promise<ToolCallResult | undefined> {
  const { parent_id, isFromRecord } = round;
  const past: RecordedCall = run.record.calls.get(call.tool_call_id) ?? {};
  if (past.ended !== undefined)
    return (await run.options.storedResult?.(call.tool_call_id)) ?? resultOfEvent(past.ended);
  if (call.problem !== undefined) {
    const reason = `Cannot call "${call.name}": ${call.problem}`;
    return await recordSkippedCall(run, { call, past, parent_id, reason, code: "InvalidArguments" });
  }
  const reason = isFromRecord ? await interruptionReason(run, call, past) : undefined;
  if (reason === undefined) return undefined;
  return await recordSkippedCall(run, { call, past, parent_id, reason, code: "Interrupted" });
}

async function interruptionReason(
  run: Run,
  call: RequestedCall,
  { started }: RecordedCall,
): Promise<string | undefined> {
  const { name, redacted, tool_call_id } = call;
  if (redacted) {
    const state = started === undefined ? "had not run yet" : "was running";
    return `"${name}" ${state} when the run was interrupted, and its arguments contained a secret, which the audit log does not store`;
  }
  if (started === undefined) return undefined;
  const tool = run.options.runtime.tools().find((each) => each.name === started.payload["tool_name"]);
  if (tool?.idempotent === true) return undefined;
  const change = await run.options.runtime.interruptedChange(tool_call_id);
  return `"${name}" was running when the run was interrupted; ${change?.effect ?? "whether it took effect is not known"}`;
}
