import type { Approval, ApprovalAnswer } from "../../protocol/approval.ts";
import { ToolError } from "../../protocol/errors.ts";
import { acceptYes, openRequest } from "./approval-record.ts";
import type { GateCall, GateParts } from "../call.ts";
import { need } from "../call.ts";
import { describeRequest } from "./describe-request.ts";
import { bindCall, digestOf, findBases } from "./digest.ts";
import { judgeAnew } from "./judge-anew.ts";
import { copyPlainObject } from "../steps/plain-data.ts";
import { thinkBefore } from "../steps/reverse-thinking.ts";

/**
 * A person approved the call with other arguments. It is evaluated again with them, as a separate request: what the
 * policy denies stays denied, and the approval covers exactly what the edited call would do now.
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
    // The first approval was for other arguments, so it is closed, unless the call uses it after all.
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
  // The answer applies to this call only: an identical pending call keeps waiting for its own.
  const opened = await openRequest(call, parts, { request, shared: "none" });
  if (digestOf(bound.binding, bound.bases) === first) {
    // The edit changed nothing.
    await acceptYes(call, parts, { approval: opened, bound });
    return;
  }
  const { approval } = need(await parts.approvals.answer(opened.request.approval_id, yes), "request");
  if (approval.state === "granted" && approval.answer?.args === undefined) {
    return await acceptYes(call, parts, { approval, bound });
  }
  throw new ToolError(
    "ApprovalDenied",
    `Cannot run "${request.tool}": another answer to the edited request came first and did not approve it`,
    { approval_id: opened.request.approval_id },
  );
}
