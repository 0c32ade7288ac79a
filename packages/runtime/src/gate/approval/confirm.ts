import { covers } from "../../policy/grants.ts";
import type { ApprovalKeeper } from "../../contract/approvals.ts";
import type { Approval, ApprovalRequest } from "../../protocol/approval.ts";
import { ToolError } from "../../protocol/errors.ts";
import { acceptYes, letThrough, onRecord, openRequest, tellAnswer } from "./approval-record.ts";
import type { Answered } from "./approval-record.ts";
import { askPerson } from "./ask.ts";
import { because } from "../steps/because.ts";
import type { GateCall, GateParts } from "../call.ts";
import { need } from "../call.ts";
import { describeRequest } from "./describe-request.ts";
import type { BoundCall } from "./describe-request.ts";
import { bindCall, callDigestOf, digestOf, findBases } from "./digest.ts";
import type { Binding } from "./digest.ts";
import { takeEdited } from "./edited.ts";
import { addGrant } from "./grant.ts";
import { judgeAnew } from "./judge-anew.ts";
import { Parked } from "./parked.ts";
import { factsOf } from "../permit.ts";

/** Confirms a call: with a grant in force or a recorded approval for exactly this call, else by asking a person. */
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
  const isTaken = !isFree(call, parts, request); // another call here waits for the answer and will use it
  const answered = await askPerson(call, parts, { request, isShared });
  if (answered === "unavailable") throw approvalRequired(call, request);
  if (answered === "parked") throw new Parked(request.tool, request);
  if (isTaken && answered.state !== "denied" && answered.state !== "expired")
    return await askAgain(call, parts, answered);
  await follow(call, parts, { approval: answered, bound, hasWaited: true });
}

/** The answer was for another, identical call. A grant covers both; a one-time approval does not. */
async function askAgain(call: GateCall, parts: GateParts, answered: Approval): Promise<void> {
  if (answered.state === "granted") await onRecord(call, () => addGrant(parts, answered));
  await judgeAnew(call, parts);
  if (need(call.decision, "decision").effect === "REQUIRE_CONFIRMATION") await confirm(call, parts);
}

/**
 * The call of this process that waits for a request, or has its approval and has not started: an approval covers one
 * call.
 */
const takers = new WeakMap<ApprovalKeeper, Map<string, GateCall>>();

/** Whether the request is unclaimed; if so, this call claims it until it ends or calls `release_approval`. */
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

/** Applies the outcome of a request: an approval continues the call, anything else ends it. */
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
  const why = approval.state === "expired" ? `no answer until ${expires_at}` : `the request was ${approval.state}`;
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
  return new ToolError(
    "ApprovalRequired",
    `Approval required for "${tool}": ${need(call.decision, "decision").reason}`,
    {
      digest,
      approval_id,
      expires_at,
      replay,
      hint: `Have a person approve this exact call with "autonous approvals grant ${approval_id}" before ${expires_at}, then repeat the same call.`,
    },
  );
}
