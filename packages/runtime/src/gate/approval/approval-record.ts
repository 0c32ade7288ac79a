import type { OpenOptions } from "../../contract/approvals.ts";
import type { Approval, ApprovalRequest } from "../../protocol/approval.ts";
import { ToolError } from "../../protocol/errors.ts";
import type { EventType } from "../../protocol/events.ts";
import { reasonOf } from "../../protocol/error-reason.ts";
import { draftEvent } from "../draft-event.ts";
import type { GateParts } from "../parts.ts";
import type { Approved, Consent, Permitted } from "../stages.ts";
import { shortenParams } from "../steps/record-start.ts";
import type { BoundCall } from "./digest.ts";
import { refuseChanged } from "./reevaluate.ts";

/** If the request cannot be recorded, no one is asked. */
export async function onRecord<T>(call: Permitted, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ToolError) throw error;
    const { name } = call.tool;
    const message = `Cannot request approval for "${name}": the approval store failed (${reasonOf(error)})`;
    throw new ToolError("RecordFailed", message, {}, error);
  }
}

/** Records the request. The event is recorded only for a new request, not for one that is already pending. */
export async function openRequest(
  call: Permitted,
  parts: GateParts,
  { request, shared }: OpenOptions & { readonly request: ApprovalRequest },
): Promise<Approval> {
  const options = shared === undefined ? {} : { shared };
  const approval = await onRecord(call, () => parts.approvals.open(request, options));
  if (approval.request.approval_id !== request.approval_id) return approval;
  const { args_json: _args_json, ...shown } = request;
  const { reason, rule, expires_at } = request;
  await tell(call, parts, "approval_required", {
    ...aboutOf(call, request),
    reason,
    rule,
    expires_at,
    request: { ...shown, params: shortenParams(call, parts) },
  });
  return approval;
}

function aboutOf(call: Permitted, { approval_id, tool, digest }: ApprovalRequest) {
  return { tool_call_id: call.request.tool_call_id, approval_id, tool_name: tool, digest };
}

async function tell(
  call: Permitted,
  { journal, clock }: GateParts,
  type: EventType,
  payload: Readonly<Record<string, unknown>>,
): Promise<void> {
  try {
    await journal.append([draftEvent(call, type, payload, clock())], { durable: type !== "approval_required" });
  } catch (error) {
    if (error instanceof ToolError) throw error;
    const { name } = call.tool;
    throw new ToolError(
      "RecordFailed",
      `Cannot run "${name}": "${type}" could not be recorded (${reasonOf(error)})`,
      {},
      error,
    );
  }
}

export interface AnsweredCall {
  /** No longer pending. */
  readonly approval: Approval;
  readonly bound: BoundCall;
  /** Time passed since the call was evaluated. */
  readonly hasWaited?: boolean;
}

/** Records an approval, adds the grant if it is one, and binds the call to what was shown. */
export async function acceptYes(call: Permitted, parts: GateParts, answered: AnsweredCall): Promise<Approved> {
  const { approval, bound, hasWaited = false } = answered;
  const { approval_id } = approval.request;
  const { scope = "call", by = null } = approval.answer ?? {};
  await tellAnswer(call, parts, approval);
  const current = hasWaited ? await refuseChanged(call, parts, { approval_id, bound }) : call;
  await onRecord(call, () => addGrant(parts, approval));
  return approveBound(current, bound, { scope, by, approval_id });
}

/** A yes that is bound to everything that was shown. */
export function approveBound(
  call: Permitted,
  { binding, bases }: BoundCall,
  yes: Pick<Consent, "scope" | "by" | "approval_id">,
): Approved {
  return { ...call, approval: { approved: true, ...yes, bases, script: binding.script ?? null } };
}

export async function tellAnswer(call: Permitted, parts: GateParts, { request, answer }: Approval): Promise<void> {
  const { answer: verdict = "deny", scope = "call", by = null, via = null, reason = "", args } = answer ?? {};
  const type = verdict === "grant" ? "approval_granted" : "approval_denied";
  const { value } = parts.redactor.redactValue({ scope: verdict === "grant" ? scope : null, by, via, reason });
  const said = { ...(value as object), ...(args === undefined ? {} : { edited: true }) };
  await tell(call, parts, type, { ...aboutOf(call, request), ...said });
}

/**
 * Turns an approval for longer than one call into a grant: who gave it, where and when, and a description of its scope.
 */
export async function addGrant(parts: GateParts, { request, answer, answered_at }: Approval): Promise<void> {
  const { scope = "call", offer: wanted, by = null, via = null } = answer ?? {};
  if (scope === "call") return;
  const offer = wanted === undefined ? request.offers[0] : request.offers.find((each) => each.offer === wanted);
  if (offer === undefined) return; // a scope that was not offered counts for this call only
  const { run_id, approval_id } = request;
  await parts.approvals.addGrant({
    grant_id: approval_id.replace(/^apr_/, "grant_"), // one grant per request, however often its answer is applied
    scope,
    run_id,
    session: parts.session ?? run_id,
    pattern: offer.pattern,
    words: offer.words,
    approval_id,
    by,
    via,
    granted_at: answered_at ?? new Date(parts.clock()).toISOString(),
  });
}
