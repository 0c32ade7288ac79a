import type { OpenOptions } from "../../contract/approvals.ts";
import type { Approval, ApprovalRequest } from "../../protocol/approval.ts";
import { ToolError } from "../../protocol/errors.ts";
import type { EventType } from "../../protocol/events.ts";
import type { GateCall, GateParts } from "../call.ts";
import { draftEvent, need } from "../call.ts";
import type { BoundCall } from "./describe-request.ts";
import { reasonOf } from "../../protocol/error-reason.ts";
import { addGrant } from "./grant.ts";
import { refuseChanged } from "./judge-anew.ts";
import { shortenParams } from "../steps/params.ts";

/** If the request cannot be recorded, no one is asked. */
export async function onRecord<T>(call: GateCall, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ToolError) throw error;
    const { name } = need(call.tool, "tool");
    const message = `Cannot request approval for "${name}": the approval store failed (${reasonOf(error)})`;
    throw new ToolError("RecordFailed", message, {}, error);
  }
}

/** Records the request. The event is recorded only for a new request, not for one that is already pending. */
export async function openRequest(
  call: GateCall,
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

function aboutOf(call: GateCall, { approval_id, tool, digest }: ApprovalRequest) {
  return { tool_call_id: call.request.tool_call_id, approval_id, tool_name: tool, digest };
}

async function tell(
  call: GateCall,
  { journal, clock }: GateParts,
  type: EventType,
  payload: Readonly<Record<string, unknown>>,
): Promise<void> {
  try {
    await journal.append([draftEvent(call, type, payload, clock())], { durable: type !== "approval_required" });
  } catch (error) {
    if (error instanceof ToolError) throw error;
    const { name } = need(call.tool, "tool");
    throw new ToolError(
      "RecordFailed",
      `Cannot run "${name}": "${type}" could not be recorded (${reasonOf(error)})`,
      {},
      error,
    );
  }
}

export interface Answered {
  /** No longer pending. */
  readonly approval: Approval;
  readonly bound: BoundCall;
  /** Time passed since the call was evaluated. */
  readonly hasWaited?: boolean;
}

/** Records an approval, adds the grant if it is one, and binds the call to what was shown. */
export async function acceptYes(call: GateCall, parts: GateParts, answered: Answered): Promise<void> {
  const { approval, bound, hasWaited = false } = answered;
  const { scope = "call", by = null } = approval.answer ?? {};
  await tellAnswer(call, parts, approval);
  if (hasWaited) await refuseChanged(call, parts, { approval_id: approval.request.approval_id, bound });
  await onRecord(call, () => addGrant(parts, approval));
  letThrough(call, bound, { scope, by });
  call.approval_id = approval.request.approval_id;
}

export function letThrough(
  call: GateCall,
  { binding, bases }: BoundCall,
  by: Omit<NonNullable<GateCall["approval"]>, "approved">,
): void {
  call.approval = { approved: true, ...by };
  call.bases = bases;
  call.script = binding.script;
}

export async function tellAnswer(call: GateCall, parts: GateParts, { request, answer }: Approval): Promise<void> {
  const { answer: verdict = "deny", scope = "call", by = null, via = null, reason = "", args } = answer ?? {};
  const type = verdict === "grant" ? "approval_granted" : "approval_denied";
  const { value } = parts.redactor.redactValue({ scope: verdict === "grant" ? scope : null, by, via, reason });
  const said = { ...(value as object), ...(args === undefined ? {} : { edited: true }) };
  await tell(call, parts, type, { ...aboutOf(call, request), ...said });
}
