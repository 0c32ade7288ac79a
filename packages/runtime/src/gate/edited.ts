import type { Approval, ApprovalAnswer } from "../protocol/approval.ts";
import { ToolError } from "../protocol/errors.ts";
import { acceptYes, openRequest } from "./approval-record.ts";
import type { GateCall, GateParts } from "./call.ts";
import { need } from "./call.ts";
import { describeRequest } from "./describe-request.ts";
import { bindCall, digestOf, findBases } from "./digest.ts";
import { judgeAnew } from "./judge-anew.ts";
import { copyPlainObject } from "./plain-data.ts";
import { thinkBefore } from "./reverse-thinking.ts";

/**
 * A person approved the call with other arguments. It begins anew with them, as a request of its own: what the policy
 * denies stays denied, and the yes covers exactly what they would do now.
 */
export async function takeEdited(
  call: GateCall,
  parts: GateParts,
  { request: first, answer }: Approval,
): Promise<void> {
  const { args, ...yes } = need(answer, "answer");
  try {
    takeArgs(call, args ?? {});
    await judgeAnew(call, parts);
    await thinkBefore(call, parts);
    if (need(call.decision, "decision").effect === "REQUIRE_CONFIRMATION") {
      await openAndGrant(call, parts, { first: first.digest, yes });
    } else {
      call.approval = { approved: true, scope: "call", by: yes.by ?? null };
    }
  } finally {
    // It was a yes to something else. Where it is the one that the call uses after all, it stays.
    if (call.approval_id !== first.approval_id) await parts.approvals.end(first.approval_id, "withdrawn");
  }
}

function takeArgs(call: GateCall, args: Readonly<Record<string, unknown>>): void {
  call.request = { ...call.request, args: copyPlainObject(args) };
  call.is_edited = true;
  call.undo_records = [];
  call.restores = false;
  call.commands = [];
  call.addresses = [];
  delete call.short_params;
}

async function openAndGrant(
  call: GateCall,
  parts: GateParts,
  { first, yes }: { readonly first: string; readonly yes: ApprovalAnswer },
): Promise<void> {
  const bound = { binding: await bindCall(call, parts), bases: await findBases(call, parts) };
  const request = await describeRequest(call, parts, bound);
  // The answer is to this call: one that waits for the same goes on waiting for its own.
  const opened = await openRequest(call, parts, { request, shared: "none" });
  if (digestOf(bound.binding, bound.bases) === first) {
    // Nothing was changed after all.
    await acceptYes(call, parts, { approval: opened, bound });
    return;
  }
  const { approval } = need(await parts.approvals.answer(opened.request.approval_id, yes), "request");
  if (approval.state === "granted" && approval.answer?.args === undefined) {
    return await acceptYes(call, parts, { approval, bound });
  }
  throw new ToolError(
    "ApprovalDenied",
    `Cannot run "${request.tool}": somebody else answered the edited request first, and not with a yes`,
    { approval_id: opened.request.approval_id },
  );
}
