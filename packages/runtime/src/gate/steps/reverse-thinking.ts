import type { HookCall, OnReverseThinking } from "../../contract/host.ts";
import type { ReverseThinkingOrder } from "../../protocol/configuration.ts";
import { ToolError } from "../../protocol/errors.ts";
import type { GateCall, GateParts } from "../call.ts";
import { need } from "../call.ts";
import { waitFor } from "../wait-for.ts";

/** Step 7, if the host wants calls challenged before asking a person, or instead of it. */
export async function thinkBefore(call: GateCall, parts: GateParts): Promise<void> {
  if (orderOf(parts) !== "after") await challenge(call, parts);
}

/** Step 7: challenges the calls of tools that require it before they run. The findings are recorded. */
export async function thinkInReverse(call: GateCall, parts: GateParts): Promise<void> {
  if (orderOf(parts) === "after") await challenge(call, parts);
}

/** Whether the passed challenge replaces a person's approval. */
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
      `Cannot run "${tool.name}": it requires reverse thinking, which the host does not provide`,
    );
  }
  const { reverseThinking } = await import("../../protocol/approval.ts"); // lazy: few tools require it
  const given = await waitFor(call, parts, () => ask(onReverseThinking, call));
  const found = reverseThinking.safeParse(given);
  if (!found.success) {
    throw new ToolError(
      "ReverseThinkingStopped",
      `Cannot run "${tool.name}": reverse thinking returned no valid verdict`,
    );
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

/** If the challenge fails, the call does not run. */
async function ask(onReverseThinking: OnReverseThinking, call: GateCall): Promise<unknown> {
  try {
    return await onReverseThinking(hookCall(call));
  } catch (error) {
    if (call.options.signal?.aborted === true) throw error;
    const { name } = need(call.tool, "tool");
    const why = error instanceof ToolError ? `: ${error.message}` : "";
    throw new ToolError("ReverseThinkingStopped", `Cannot run "${name}": reverse thinking failed${why}`, {}, error);
  }
}

/** The view of a call that hooks of the host get. */
export function hookCall(call: GateCall): HookCall {
  const { name, version } = need(call.tool, "tool");
  return { tool_call_id: call.request.tool_call_id, tool: name, version, args: need(call.args, "args") };
}
