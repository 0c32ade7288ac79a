import { ToolError } from "../protocol/errors.ts";
import type { GateCall, GateParts } from "./call.ts";
import { need } from "./call.ts";
import { because } from "./because.ts";
import { hookCall, standsForYes } from "./reverse-thinking.ts";
import { waitFor } from "./wait-for.ts";

/** Step 6: the checkpoint handler of the host; else a person, where the decision asks for one. */
export async function getApproval(call: GateCall, parts: GateParts): Promise<void> {
  if (need(call.tool, "tool").requires_checkpoint) return await passCheckpoint(call, parts);
  if (need(call.decision, "decision").effect !== "REQUIRE_CONFIRMATION") return;
  if (standsForYes(call, parts)) {
    call.approval = { approved: true, scope: "call", by: "reverse_thinking" };
    return;
  }
  const { confirm } = await import("./confirm.ts"); // most processes ask nobody, and start faster without
  await confirm(call, parts);
}

/** The handler's yes is the yes of the person that it stands for: nobody is asked twice about one call. */
async function passCheckpoint(call: GateCall, parts: GateParts): Promise<void> {
  const tool = need(call.tool, "tool");
  // Policy has refused a checkpoint tool without a handler in step 4.
  const onCheckpoint = need(parts.onCheckpoint, "checkpoint handler");
  const answer = await waitFor(call, parts, () => onCheckpoint(hookCall(call)));
  if (answer.answer === "grant") {
    call.approval = { approved: true, scope: "call", by: answer.by ?? null };
    return;
  }
  call.approval = { approved: false, scope: null, by: answer.by ?? null };
  throw new ToolError("CheckpointDenied", `Cannot run "${tool.name}": the checkpoint said no${because(answer.reason)}`);
}
