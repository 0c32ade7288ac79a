import { covers } from "../policy/grants.ts";
import type { ApprovalKeeper } from "../contract/approvals.ts";
import type { Approval, ApprovalRequest } from "../protocol/approval.ts";
import { ToolError } from "../protocol/errors.ts";
import { acceptYes, letThrough, onRecord, openRequest, tellAnswer } from "./approval-record.ts";
import type { Answered } from "./approval-record.ts";
import { askPerson } from "./ask.ts";
import { because } from "./because.ts";
import type { GateCall, GateParts } from "./call.ts";
import { need } from "./call.ts";
import { describeRequest } from "./describe-request.ts";
import type { BoundCall } from "./describe-request.ts";
import { bindCall, callDigestOf, digestOf, findBases } from "./digest.ts";
import type { Binding } from "./digest.ts";
import { takeEdited } from "./edited.ts";
import { addGrant } from "./grant.ts";
import { judgeAnew } from "./judge-anew.ts";
import { Parked } from "./parked.ts";
import { factsOf } from "./permit.ts";

/** Has a call confirmed: by a yes that is in force, or one that is on record for exactly this call; else a person is asked. */
export async function confirm(call: GateCall, parts: GateParts): Promise<void> {
  const binding = await bindCall(call, parts);
  if (await isGranted(call, parts, binding)) return;
  const bound = { binding, bases: await findBases(call, parts) };
  const digest = digestOf(bound.binding, bound.bases);
  if (parts.settings.configuration.approve?.includes(digest) === true) {
    letThrough(call, bound, { scope: "call", by: "configuration" });
    return;
  }
  const granted = await onRecord(call, () => parts.approvals.findGranted(digest));
  if (granted !== undefined && granted.answer?.args === undefined && isFree(call, parts, granted.request))
    return await takeYes(call, parts, { approval: granted, bound });
  await ask(call, parts, bound);
}

async function ask(call: GateCall, parts: GateParts, bound: BoundCall): Promise<void> {
  const described = await describeRequest(call, parts, bound);
  const shared = parts.onApproval === undefined ? "any" : "run";
  const { request, ...approval } = await openRequest(call, parts, { request: described, shared });
  if (approval.state !== "pending") return await follow(call, parts, { approval: { request, ...approval }, bound });
  const isShared = request.tool_call_id !== call.request.tool_call_id;
  const isTaken = !isFree(call, parts, request); // another call here waits for the answer, and takes it
  const answered = await askPerson(call, parts, { request, isShared });
  if (answered === "nobody") throw approvalRequired(call, request);
  if (answered === "parked") throw new Parked(request.tool, request);
  if (isTaken && answered.state !== "denied" && answered.state !== "expired")
    return await askAgain(call, parts, answered);
  await follow(call, parts, { approval: answered, bound, hasWaited: true });
}

/** The answer was another call's, the same as this one. What it grants for longer counts for both; a yes to one does not. */
async function askAgain(call: GateCall, parts: GateParts, answered: Approval): Promise<void> {
  if (answered.state === "granted") await onRecord(call, () => addGrant(parts, answered));
  await judgeAnew(call, parts);
  if (need(call.decision, "decision").effect === "REQUIRE_CONFIRMATION") await confirm(call, parts);
}

/** Which call of this process waits for a request, or has its yes and has not begun: a yes is good for one. */
const takers = new WeakMap<ApprovalKeeper, Map<string, GateCall>>();

/** Whether no other call here has it; from then on this one does, until it is over or `release_approval` is called. */
function isFree(call: GateCall, { approvals }: GateParts, { approval_id }: ApprovalRequest): boolean {
  const known = takers.get(approvals) ?? new Map<string, GateCall>();
  takers.set(approvals, known);
  const taker = known.get(approval_id);
  if (taker !== undefined) return taker === call;
  known.set(approval_id, call);
  const before = call.release_approval;
  call.release_approval = () => {
    known.delete(approval_id);
    before?.();
  };
  return true;
}

async function isGranted(call: GateCall, parts: GateParts, binding: Binding): Promise<boolean> {
  const { run_id } = call.request;
  const holder = { run_id, session: parts.session ?? run_id };
  const grants = await onRecord(call, () => parts.approvals.grants(holder));
  const ground = { call_digest: callDigestOf(binding), workspace: parts.workspace };
  const facts = factsOf(call);
  const found = grants.find(({ pattern }) => covers(pattern, facts, ground));
  if (found === undefined) return false;
  call.approval = { approved: true, scope: found.scope, by: found.by };
  call.script = binding.script;
  return true;
}

/** Does what became of a request: a yes lets the call through, everything else ends it. */
async function follow(call: GateCall, parts: GateParts, answered: Answered): Promise<void> {
  const { approval } = answered;
  const { tool, approval_id, expires_at } = approval.request;
  if (approval.state === "granted") return await takeYes(call, parts, answered);
  const cannot = `Cannot run "${tool}"`;
  if (approval.state === "denied") {
    const { by = null, reason } = approval.answer ?? {};
    call.approval = { approved: false, scope: null, by };
    await tellAnswer(call, parts, approval);
    throw new ToolError("ApprovalDenied", `${cannot}: a person said no${because(reason)}`, {
      approval_id,
      ...(reason === undefined ? {} : { reason }),
    });
  }
  const why =
    approval.state === "expired" ? `nobody answered until ${expires_at}` : `the request was ${approval.state}`;
  throw new ToolError("ApprovalExpired", `${cannot}: ${why}`, { approval_id });
}

async function takeYes(call: GateCall, parts: GateParts, answered: Answered): Promise<void> {
  const { approval } = answered;
  if (approval.answer?.args === undefined) return await acceptYes(call, parts, answered);
  await tellAnswer(call, parts, approval);
  await takeEdited(call, parts, approval);
}

function approvalRequired(
  call: GateCall,
  { digest, approval_id, replay, tool, expires_at }: ApprovalRequest,
): ToolError {
  return new ToolError("ApprovalRequired", `Cannot run "${tool}" unasked: ${need(call.decision, "decision").reason}`, {
    digest,
    approval_id,
    expires_at,
    replay,
    hint: `Have a person approve this exact call with "autonous approvals grant ${approval_id}" until ${expires_at}, and make the same call again.`,
  });
}
