import type { CallFacts, Decision } from "../policy/decide.ts";
import type { ToolCallRequest } from "../protocol/call.ts";
import type { ToolCallResult } from "../protocol/result.ts";
import { ToolError } from "../protocol/errors.ts";
import { checkArgs, findTool, resolvePaths } from "./steps/admit.ts";
import { activateSkills } from "./steps/activate-skills.ts";
import { getApproval } from "./approval/approve.ts";
import type { CallOptions, DecidingParts, GateCall, GateParts, Step } from "./call.ts";
import { need } from "./call.ts";
import { reasonOf } from "../protocol/error-reason.ts";
import { execute, recordStart } from "./steps/execute.ts";
import type { Opened } from "./steps/open-call.ts";
import { Parked } from "./approval/parked.ts";
import { decide, factsOf } from "./permit.ts";
import { takeQuota } from "./quota/quota.ts";
import { recordEnd } from "./steps/record-end.ts";
import { thinkBefore, thinkInReverse } from "./steps/reverse-thinking.ts";
import { settle } from "./steps/settle.ts";
import type { Settled } from "./steps/settle.ts";

/** The only entry point. The order is the security argument: nothing runs before step 8 is recorded. */
// oxfmt-ignore
const STEPS: readonly Step[] = [
  findTool,        // 1  name, alias, version -> tool
  checkArgs,       // 2  strict schema
  resolvePaths,    // 3  resolve paths
  decide,          // 4  policy, pure
  takeQuota,       // 5  check only; charged with the start
  thinkBefore,     // 7  if the host wants it before 6
  getApproval,     // 6  checkpoint, confirmation; may park
  thinkInReverse,  // 7  only tools that require it
  recordStart,     // 8  no record, no run
  execute,         // 9  under a deadline
  activateSkills,  //    a skill that was read restricts later calls
];

/** The first steps of the list above, for calls that are only evaluated. */
const DECIDING_STEPS: readonly ((call: GateCall, parts: DecidingParts) => Promise<void> | void)[] = [
  findTool,
  checkArgs,
  resolvePaths,
  decide,
];

/** Makes one call. Never throws: every outcome is a result. */
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

/**
 * Steps 1 to 4 without making the call: the policy's decision. Throws the `ToolError` of a call that it cannot
 * evaluate.
 */
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
      if (done !== undefined) await done; // awaiting every step would take most of the time of a replay
    }
  } catch (error) {
    if (call.decision === undefined) throw error;
  }
  return { decision: need(call.decision, "decision"), call: factsOf(call) };
}

/** A decision and the facts it is based on. */
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

/** Counts the usage of a call whatever its outcome; returns the problem if that fails. */
async function countUse(call: GateCall, { quotas }: GateParts): Promise<ToolError | undefined> {
  try {
    await quotas.release(call);
    return undefined;
  } catch (error) {
    const message = `"${call.request.name}" ran, but its quota use could not be counted (${reasonOf(error)})`;
    return new ToolError("RecordFailed", message, {}, error);
  }
}

/**
 * If long output cannot be stored (a full disk), the call fails instead of showing part of it as if it were complete.
 */
function settleSafely(call: GateCall, problem: unknown, parts: GateParts): Settled {
  try {
    return settle(call, problem, parts);
  } catch (error) {
    const lost = new ToolError(
      "RecordFailed",
      `"${call.request.name}" ran, but its output could not be stored (${reasonOf(error)})`,
      {},
      error,
    );
    delete call.output;
    return settle(call, lost, parts);
  }
}
