import type { HookCall } from "../contract/host.ts";
import { ToolError } from "../protocol/errors.ts";
import type { GateCall, GateParts } from "./call.ts";
import { need } from "./call.ts";

/** Step 7: tools that ask for it have their call challenged before it runs. What was found stays with the record. */
export async function thinkInReverse(call: GateCall, { onReverseThinking, redactor }: GateParts): Promise<void> {
  const tool = need(call.tool, "tool");
  if (!tool.requires_reverse_thinking) return;
  if (onReverseThinking === undefined) {
    throw new ToolError(
      "ReverseThinkingStopped",
      `Cannot run "${tool.name}": it asks for reverse thinking, and the host has none`,
    );
  }
  const { reverseThinking } = await import("../protocol/approval.ts"); // few tools ask for it
  const found = reverseThinking.safeParse(await onReverseThinking(hookCall(call)));
  if (!found.success) {
    throw new ToolError("ReverseThinkingStopped", `Cannot run "${tool.name}": reverse thinking gave no usable verdict`);
  }
  call.reverse_thinking = redactor.redactValue(found.data).value as typeof found.data;
  const { verdict, verdict_reason } = found.data;
  if (verdict !== "proceed") {
    throw new ToolError(
      "ReverseThinkingStopped",
      `Cannot run "${tool.name}": reverse thinking says ${verdict}: ${verdict_reason}`,
      { verdict },
    );
  }
}

/** What the host's hooks get to see of a call. */
export function hookCall(call: GateCall): HookCall {
  const { name, version } = need(call.tool, "tool");
  return { tool_call_id: call.request.tool_call_id, tool: name, version, args: need(call.args, "args") };
}
