import { covers } from "../../policy/rules/grants.ts";
import type { ApprovalKeeper } from "../../contract/approvals.ts";
import type { Approval, ApprovalAnswer, ApprovalRequest, Grant } from "../../protocol/approval.ts";
import { ToolError } from "../../protocol/errors.ts";
import { Parked } from "../parked.ts";
import type { GateParts } from "../parts.ts";
import { factsOf } from "../permit.ts";
import type { Approved, Attempt, Permitted } from "../stages.ts";
import { copyPlainObject } from "../steps/open-call.ts";
import { thinkBefore } from "../steps/reverse-thinking.ts";
import { acceptYes, addGrant, approveBound, onRecord, openRequest, tellAnswer } from "./approval-record.ts";
import type { AnsweredCall } from "./approval-record.ts";
import { approve, because, refuse } from "./approve.ts";
import { askPerson } from "./ask.ts";
import { describeRequest } from "./describe-request.ts";
import { bindCall, boundCall, callDigestOf, digestOf, findBases } from "./digest.ts";
import type { Binding, BoundCall } from "./digest.ts";
import { reevaluate } from "./reevaluate.ts";

/** Confirms a call: with a grant in force or a recorded approval for exactly this call, else by asking a person. */
export async function confirm(call: Permitted, parts: GateParts): Promise<Approved> {
  const binding = await bindCall(call, parts);
  const grant = await findGrant(call, parts, binding);
  if (grant !== undefined) {
    const { scope, by } = grant; // it covers any content of the files, but not of a script
    return approveBound(call, { binding, bases: {} }, { scope, by, approval_id: null });
  }
  const bound = { binding, bases: await findBases(call, parts) };
  const digest = digestOf(bound.binding, bound.bases);
  if (parts.settings.configuration.approve?.includes(digest) === true)
    return approveBound(call, bound, { scope: "call", by: "configuration", approval_id: null });
  const granted = await onRecord(call, () => parts.approvals.findGranted(digest));
  if (granted !== undefined && granted.answer?.args === undefined && isFree(call, parts, granted.request))
    return await takeYes(call, parts, { approval: granted, bound });
  return await ask(call, parts, bound);
}

async function ask(call: Permitted, parts: GateParts, bound: BoundCall): Promise<Approved> {
  const described = await describeRequest(call, parts, bound);
  const shared = parts.onApproval === undefined ? "any" : "run";
  const { request, ...approval } = await openRequest(call, parts, { request: described, shared });
  if (approval.state !== "pending") return await follow(call, parts, { approval: { request, ...approval }, bound });
  const isShared = request.tool_call_id !== call.request.tool_call_id;
  const isTaken = !isFree(call, parts, request); // another call here waits for the answer and will use it
  const answered = await askPerson(call, parts, { request, isShared });
  if (answered === "unavailable") throw approvalRequired(call, request);
  if (answered === "parked") throw new Parked(request);
  if (isTaken && answered.state !== "denied" && answered.state !== "expired")
    return await askAgain(call, parts, answered);
  return await follow(call, parts, { approval: answered, bound, hasWaited: true });
}

/** The answer was for another, identical call. A grant covers both; a one-time approval does not. */
async function askAgain(call: Permitted, parts: GateParts, answered: Approval): Promise<Approved> {
  if (answered.state === "granted") await onRecord(call, () => addGrant(parts, answered));
  const current = await reevaluate(call, parts);
  return current.decision.effect === "ALLOW" ? { ...current, approval: null } : await confirm(current, parts);
}

/**
 * The call of this process that waits for a request, or has its approval and has not started: an approval covers one
 * call.
 */
const takers = new WeakMap<ApprovalKeeper, Map<string, Attempt>>();

/** Whether the request is unclaimed; if so, this call claims it until it ends. */
function isFree({ attempt }: Permitted, { approvals }: GateParts, { approval_id }: ApprovalRequest): boolean {
  const known = takers.get(approvals) ?? new Map<string, Attempt>();
  takers.set(approvals, known);
  const taker = known.get(approval_id);
  if (taker !== undefined) return taker === attempt;
  known.set(approval_id, attempt);
  attempt.onEnd(() => known.delete(approval_id));
  return true;
}

async function findGrant(call: Permitted, parts: GateParts, binding: Binding): Promise<Grant | undefined> {
  const { run_id } = call.request;
  const holder = { run_id, session: parts.session ?? run_id };
  const grants = await onRecord(call, () => parts.approvals.grants(holder));
  const ground = { call_digest: callDigestOf(binding), workspace: parts.workspace };
  const facts = factsOf(call);
  return grants.find(({ pattern }) => covers(pattern, facts, ground));
}

/** Applies the outcome of a request: an approval continues the call, anything else ends it. */
async function follow(call: Permitted, parts: GateParts, answered: AnsweredCall): Promise<Approved> {
  const { approval } = answered;
  const { tool, approval_id, expires_at } = approval.request;
  if (approval.state === "granted") return await takeYes(call, parts, answered);
  const cannot = `Cannot run "${tool}"`;
  if (approval.state === "denied") {
    const { by = null, reason } = approval.answer ?? {};
    refuse(call, by);
    await tellAnswer(call, parts, approval);
    throw new ToolError("ApprovalDenied", `${cannot}: a person said no${because(reason)}`, {
      approval_id,
      ...(reason === undefined ? {} : { reason }),
    });
  }
  const why = approval.state === "expired" ? `no answer until ${expires_at}` : `the request was ${approval.state}`;
  throw new ToolError("ApprovalExpired", `${cannot}: ${why}`, { approval_id });
}

async function takeYes(call: Permitted, parts: GateParts, answered: AnsweredCall): Promise<Approved> {
  const { request, answer } = answered.approval;
  if (answer?.args === undefined) return await acceptYes(call, parts, answered);
  await tellAnswer(call, parts, answered.approval);
  const { args, ...yes } = answer;
  return await takeEdited(call, parts, { first: request, args, yes });
}

interface EditedAnswer {
  /** The request that it answers. */
  readonly first: ApprovalRequest;
  readonly args: Readonly<Record<string, unknown>>;
  readonly yes: ApprovalAnswer;
}

/**
 * A person approved the call with other arguments. It is evaluated again with them, as a separate request: what the
 * policy denies stays denied, and the approval covers exactly what the edited call would do now.
 */
async function takeEdited(call: Permitted, parts: GateParts, { first, args, yes }: EditedAnswer): Promise<Approved> {
  let approved: Approved | undefined;
  try {
    const request = { ...call.request, args: copyPlainObject(args) };
    const edited = await thinkBefore(await reevaluate({ ...call, request, is_edited: true }, parts), parts);
    approved =
      edited.decision.effect === "ALLOW"
        ? approve(edited, { scope: "call", by: yes.by ?? null })
        : await openAndGrant(edited, parts, { first: first.digest, yes });
    return approved;
  } finally {
    // The first approval was for other arguments, so it is closed, unless the call uses it after all.
    if (approved?.approval?.approval_id !== first.approval_id)
      await parts.approvals.end(first.approval_id, "withdrawn");
  }
}

async function openAndGrant(
  call: Permitted,
  parts: GateParts,
  { first, yes }: { readonly first: string; readonly yes: ApprovalAnswer },
): Promise<Approved> {
  const bound = await boundCall(call, parts);
  const request = await describeRequest(call, parts, bound);
  // The answer applies to this call only: an identical pending call keeps waiting for its own.
  const opened = await openRequest(call, parts, { request, shared: "none" });
  // The edit changed nothing.
  if (digestOf(bound.binding, bound.bases) === first) return await acceptYes(call, parts, { approval: opened, bound });
  const { approval_id } = opened.request;
  const answered = await parts.approvals.answer(approval_id, yes);
  if (answered === undefined) throw new Error(`The request "${approval_id}" is no longer on record`);
  const { approval } = answered;
  if (approval.state === "granted" && approval.answer?.args === undefined)
    return await acceptYes(call, parts, { approval, bound });
  throw new ToolError(
    "ApprovalDenied",
    `Cannot run "${request.tool}": another answer to the edited request came first and did not approve it`,
    { approval_id },
  );
}

function approvalRequired(
  { decision }: Permitted,
  { digest, approval_id, replay, tool, expires_at }: ApprovalRequest,
): ToolError {
  const hint = `Have a person approve this exact call with "autonous approvals grant ${approval_id}" before ${expires_at}, then repeat the same call.`;
  const message = `Approval required for "${tool}": ${decision.reason}`;
  return new ToolError("ApprovalRequired", message, { digest, approval_id, expires_at, replay, hint });
}
