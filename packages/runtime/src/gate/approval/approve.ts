import { ToolError } from "../../protocol/errors.ts";
import type { GateCall, GateParts } from "../call.ts";
import { need } from "../call.ts";
import { because } from "../steps/because.ts";
import { hookCall, standsForYes } from "../steps/reverse-thinking.ts";
import { waitFor } from "../wait-for.ts";

/** Step 6: asks the checkpoint handler of the host, or else a person if the decision requires it. */
export async function getApproval(call: GateCall, parts: GateParts): Promise<void> {
  if (need(call.tool, "tool").requires_checkpoint) return await passCheckpoint(call, parts);
  if (need(call.decision, "decision").effect !== "REQUIRE_CONFIRMATION") return;
  if (standsForYes(call, parts)) {
    call.approval = { approved: true, scope: "call", by: "reverse_thinking" };
    return;
  }
  const { confirm } = await import("./confirm.ts"); // lazy: most processes never ask, and start faster without it
  await confirm(call, parts);
}

/** The handler answers for a person: an approved checkpoint needs no second question about the same call. */
async function passCheckpoint(call: GateCall, parts: GateParts): Promise<void> {
  const tool = need(call.tool, "tool");
  // Step 4 refuses a checkpoint tool without a handler.
  const onCheckpoint = need(parts.onCheckpoint, "checkpoint handler");
  const answer = await waitFor(call, parts, () => onCheckpoint(hookCall(call)));
  if (answer.answer === "grant") {
    call.approval = { approved: true, scope: "call", by: answer.by ?? null };
    return;
  }
  call.approval = { approved: false, scope: null, by: answer.by ?? null };
  throw new ToolError("CheckpointDenied", `Cannot run "${tool.name}": the checkpoint said no${because(answer.reason)}`);
}
