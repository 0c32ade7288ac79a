import type { HookCall, OnReverseThinking } from "../contract/host.ts";
import type { ReverseThinkingOrder } from "../protocol/configuration.ts";
import { ToolError } from "../protocol/errors.ts";
import type { GateCall, GateParts } from "./call.ts";
import { need } from "./call.ts";
import { waitFor } from "./wait-for.ts";

/** Step 7, where the host has a call challenged before anybody is asked about it, or instead. */
export async function thinkBefore(call: GateCall, parts: GateParts): Promise<void> {
  if (orderOf(parts) !== "after") await challenge(call, parts);
}

/** Step 7: tools that ask for it have their call challenged before it runs. What was found stays with the record. */
export async function thinkInReverse(call: GateCall, parts: GateParts): Promise<void> {
  if (orderOf(parts) === "after") await challenge(call, parts);
}

/** Whether the challenge that a call came through stands for a person's yes. */
export function standsForYes(call: GateCall, parts: GateParts): boolean {
  return orderOf(parts) === "instead" && call.reverse_thinking?.verdict === "proceed";
}

function orderOf({ settings }: GateParts): ReverseThinkingOrder {
  return settings.configuration.reverse_thinking ?? "after";
}

async function challenge(call: GateCall, parts: GateParts): Promise<void> {
  const { onReverseThinking, redactor } = parts;
  const tool = need(call.tool, "tool");
  if (!tool.requires_reverse_thinking) return;
  if (onReverseThinking === undefined) {
    throw new ToolError(
      "ReverseThinkingStopped",
      `Cannot run "${tool.name}": it asks for reverse thinking, and the host has none`,
    );
  }
  const { reverseThinking } = await import("../protocol/approval.ts"); // few tools ask for it
  const given = await waitFor(call, parts, () => ask(onReverseThinking, call));
  const found = reverseThinking.safeParse(given);
  if (!found.success) {
    throw new ToolError("ReverseThinkingStopped", `Cannot run "${tool.name}": reverse thinking gave no usable verdict`);
  }
  call.reverse_thinking = redactor.redactValue(found.data).value as typeof found.data;
  const { verdict, verdict_reason } = call.reverse_thinking;
  if (verdict === "proceed") return;
  throw new ToolError(
    "ReverseThinkingStopped",
    `Cannot run "${tool.name}": reverse thinking says ${verdict}: ${verdict_reason}`,
    { verdict, verdict_reason },
  );
}

/** A challenge that could not be made is none: the call does not run. */
async function ask(onReverseThinking: OnReverseThinking, call: GateCall): Promise<unknown> {
  try {
    return await onReverseThinking(hookCall(call));
  } catch (error) {
    if (call.options.signal?.aborted === true) throw error;
    const { name } = need(call.tool, "tool");
    const why = error instanceof ToolError ? `: ${error.message}` : "";
    throw new ToolError("ReverseThinkingStopped", `Cannot run "${name}": it could not be challenged${why}`, {}, error);
  }
}

/** What the host's hooks get to see of a call. */
export function hookCall(call: GateCall): HookCall {
  const { name, version } = need(call.tool, "tool");
  return { tool_call_id: call.request.tool_call_id, tool: name, version, args: need(call.args, "args") };
}
