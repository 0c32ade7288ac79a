import type { CallFacts, Decision } from "../policy/decide.ts";
import { ToolError } from "../protocol/errors.ts";
import type { ToolCallResult } from "../protocol/result.ts";
import { getApproval } from "./approval/approve.ts";
import { reasonOf } from "../protocol/error-reason.ts";
import { DECIDING_STEPS, evaluate } from "./evaluate.ts";
import { Parked } from "./parked.ts";
import type { CallOptions, DecidingParts, GateParts } from "./parts.ts";
import { factsOf, refuseDenied } from "./permit.ts";
import { pipeline } from "./pipeline.ts";
import { takeQuota } from "./quota/quota.ts";
import { Attempt } from "./stages.ts";
import type { Settled, Stage } from "./stages.ts";
import { activateSkills } from "./steps/active-skills.ts";
import { execute } from "./steps/execute.ts";
import type { IncomingCall } from "./steps/open-call.ts";
import { recordEnd } from "./steps/record-end.ts";
import { recordStart } from "./steps/record-start.ts";
import { thinkBefore, thinkInReverse } from "./steps/reverse-thinking.ts";
import { NO_OUTPUT, outputOf, settle } from "./steps/settle.ts";

/**
 * The only entry point. The order is the security argument: nothing runs before step 8 is recorded. Each step takes the
 * stage that the one before it returns, so a list in another order does not compile.
 */
// oxfmt-ignore
const STEPS = [
  ...DECIDING_STEPS, // 1  findTool: name, alias, version -> tool
                     // 2  checkArgs: strict schema
                     // 3  resolvePaths, readTargets: where each path really leads; commands and addresses
                     // 4  decide: policy, pure
  refuseDenied,      //    a denial ends the call
  takeQuota,         // 5  check only; charged with the start
  thinkBefore,       // 7  if the host wants it before 6
  getApproval,       // 6  checkpoint, confirmation; may park
  thinkInReverse,    // 7  only tools that require it
  recordStart,       // 8  no record, no run
  execute,           // 9  under a deadline
  activateSkills,    //    a skill that was read restricts later calls
] as const;

const runSteps = pipeline(STEPS);

/** Makes one call. Never throws: every outcome is a result. */
export async function runGate(
  { request, refusal }: IncomingCall,
  options: CallOptions,
  parts: GateParts,
): Promise<ToolCallResult> {
  const attempt = new Attempt(request, options, parts.clock());
  let problem: unknown = refusal;
  try {
    if (problem === undefined) await runSteps(attempt.reached, parts, (stage) => (attempt.reached = stage));
  } catch (error) {
    problem = error;
  }
  attempt.end();
  const uncounted = await countUse(attempt.reached, parts);
  problem ??= uncounted;
  const settled = settleSafely(attempt.reached, problem, parts); // 10  redact, store, truncate
  if (problem instanceof Parked) return settled.result; // the call is still open
  return await recordEnd(settled, parts); // 11
}

/** A decision and the facts it is based on. */
export interface ExplainedCall {
  readonly decision: Decision;
  readonly call: CallFacts;
}

/**
 * Steps 1 to 4 without making the call: the policy's decision. Throws the `ToolError` of a call that it cannot
 * evaluate.
 */
export async function explainCall(
  { request, refusal }: IncomingCall,
  options: CallOptions,
  parts: DecidingParts,
): Promise<ExplainedCall> {
  if (refusal !== undefined) throw refusal;
  const decided = await evaluate(new Attempt(request, options, parts.clock()).reached, parts);
  return { decision: decided.decision, call: factsOf(decided) };
}

/** Counts the usage of a call whatever its outcome; returns the problem if that fails. */
async function countUse(call: Stage, { quotas }: GateParts): Promise<ToolError | undefined> {
  try {
    await quotas.release(call);
    return undefined;
  } catch (error) {
    const message = `"${call.request.name}" ran, but its quota use could not be counted (${reasonOf(error)})`;
    return new ToolError("RecordFailed", message, {}, error);
  }
}

/** If long output cannot be stored (a full disk), the call fails instead of showing part of it as if it were complete. */
function settleSafely(call: Stage, problem: unknown, parts: GateParts): Settled {
  const output = outputOf(call);
  try {
    return settle({ call, problem, output }, parts);
  } catch (error) {
    const message = `"${call.request.name}" ran, but its output could not be stored (${reasonOf(error)})`;
    const lost = new ToolError("RecordFailed", message, {}, error);
    return settle({ call, problem: lost, output: output === undefined ? undefined : NO_OUTPUT }, parts);
  }
}
