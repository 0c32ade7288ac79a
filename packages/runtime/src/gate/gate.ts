import type { CallFacts, Decision } from "../policy/decide.ts";
import type { ToolCallRequest } from "../protocol/call.ts";
import type { ToolCallResult } from "../protocol/result.ts";
import { ToolError } from "../protocol/errors.ts";
import { checkArgs, findTool, resolvePaths } from "./admit.ts";
import { activateSkills } from "./activate-skills.ts";
import { getApproval } from "./approve.ts";
import type { CallOptions, DecidingParts, GateCall, GateParts, Step } from "./call.ts";
import { need } from "./call.ts";
import { execute, reasonOf, recordStart } from "./execute.ts";
import type { Opened } from "./open-call.ts";
import { Parked } from "./parked.ts";
import { decide, factsOf } from "./permit.ts";
import { takeQuota } from "./quota.ts";
import { recordEnd } from "./record-end.ts";
import { thinkBefore, thinkInReverse } from "./reverse-thinking.ts";
import { settle } from "./settle.ts";
import type { Settled } from "./settle.ts";

/** The one way in. The order is the security argument: nothing runs before step 8 is on record. */
// oxfmt-ignore
const STEPS: readonly Step[] = [
  findTool,        // 1  name, alias, version -> tool
  checkArgs,       // 2  strict schema
  resolvePaths,    // 3  where each path really leads
  decide,          // 4  policy, pure
  takeQuota,       // 5  is there room? it is charged with the start
  thinkBefore,     // 7  where the host wants it before 6
  getApproval,     // 6  checkpoint, confirmation; may park
  thinkInReverse,  // 7  only tools that ask for it
  recordStart,     // 8  no record, no run
  execute,         // 9  under a deadline
  activateSkills,  //    a skill that was read restricts what follows
];

/** The beginning of the list above, for calls that are only judged. */
const DECIDING_STEPS: readonly ((call: GateCall, parts: DecidingParts) => Promise<void> | void)[] = [
  findTool,
  checkArgs,
  resolvePaths,
  decide,
];

/** Makes one call. Never throws: every way it can end is a result. */
export async function runGate(
  { request, refusal }: Opened,
  options: CallOptions,
  parts: GateParts,
): Promise<ToolCallResult> {
  const call = newCall(request, options, parts.clock());
  let problem: unknown = refusal;
  try {
    if (problem === undefined) for (const step of STEPS) await step(call, parts);
  } catch (error) {
    problem = error;
  }
  call.release_approval?.();
  const uncounted = await countUse(call, parts);
  problem ??= uncounted;
  const settled = settleSafely(call, problem, parts); // 10  redact, store, truncate
  if (problem instanceof Parked) return settled.result; // the call is still open
  return await recordEnd(call, settled, parts); // 11
}

/** Steps 1 to 4 of a call that is not made: what the policy would say. Throws the `ToolError` of a call it cannot judge. */
export async function explainCall(
  { request, refusal }: Opened,
  options: CallOptions,
  parts: DecidingParts,
): Promise<Decided> {
  if (refusal !== undefined) throw refusal;
  const call = newCall(request, options, parts.clock());
  try {
    for (const step of DECIDING_STEPS) {
      const done = step(call, parts);
      if (done !== undefined) await done; // a turn of the loop for each step is most of the time that a replay takes
    }
  } catch (error) {
    if (call.decision === undefined) throw error;
  }
  return { decision: need(call.decision, "decision"), call: factsOf(call) };
}

/** A decision and what it was made on. */
export interface Decided {
  readonly decision: Decision;
  readonly call: CallFacts;
}

function newCall(request: ToolCallRequest, options: CallOptions, opened_ms: number): GateCall {
  return {
    request,
    options,
    opened_ms,
    adapters: [],
    touches: [],
    commands: [],
    addresses: [],
    undo_records: [],
    read_skills: [],
    restores: false,
    params_redacted: false,
    is_edited: false,
    waited_ms: 0,
    bytes_written: 0,
    attachments: [],
    is_output_redacted: false,
    stored: {},
  };
}

/** What a call used is counted whatever became of it; gives the problem where that cannot be done. */
async function countUse(call: GateCall, { quotas }: GateParts): Promise<ToolError | undefined> {
  try {
    await quotas.release(call);
    return undefined;
  } catch (error) {
    const message = `"${call.request.name}" ran, but what it used could not be counted (${reasonOf(error)})`;
    return new ToolError("RecordFailed", message, {}, error);
  }
}

/** Output that cannot be put aside (a full disk) is not shown in part as if it were whole. */
function settleSafely(call: GateCall, problem: unknown, parts: GateParts): Settled {
  try {
    return settle(call, problem, parts);
  } catch (error) {
    const lost = new ToolError(
      "RecordFailed",
      `"${call.request.name}" ran, but its output could not be kept (${reasonOf(error)})`,
      {},
      error,
    );
    delete call.output;
    return settle(call, lost, parts);
  }
}
