import type { HookCall, OnReverseThinking } from "../../contract/host.ts";
import type { ReverseThinkingOrder } from "../../protocol/configuration.ts";
import { ToolError } from "../../protocol/errors.ts";
import type { GateParts } from "../parts.ts";
import { waitFor } from "../stages.ts";
import type { Approved, Checked, Permitted } from "../stages.ts";

/** Step 7, if the host wants calls challenged before asking a person, or instead of it. */
export function thinkBefore(call: Permitted, parts: GateParts): Permitted | Promise<Permitted> {
  return orderOf(parts) === "after" ? call : challenge(call, parts);
}

/** Step 7: challenges the calls of tools that require it before they run. The findings are recorded. */
export function thinkInReverse(call: Approved, parts: GateParts): Approved | Promise<Approved> {
  return orderOf(parts) === "after" ? challenge(call, parts) : call;
}

/** Whether the passed challenge replaces a person's approval. */
export function standsForYes({ attempt }: Permitted, parts: GateParts): boolean {
  return orderOf(parts) === "instead" && attempt.reverse_thinking?.verdict === "proceed";
}

function orderOf({ settings }: GateParts): ReverseThinkingOrder {
  return settings.configuration.reverse_thinking ?? "after";
}

async function challenge<Call extends Permitted>(call: Call, parts: GateParts): Promise<Call> {
  const { onReverseThinking, redactor } = parts;
  const { tool } = call;
  if (!tool.requires_reverse_thinking) return call;
  if (onReverseThinking === undefined) {
    throw new ToolError(
      "ReverseThinkingStopped",
      `Cannot run "${tool.name}": it requires reverse thinking, which the host does not provide`,
    );
  }
  const { reverseThinking } = await import("../../protocol/approval.ts"); // lazy: few tools require it
  const given = await waitFor(call, parts.clock, () => ask(onReverseThinking, call));
  const found = reverseThinking.safeParse(given);
  if (!found.success) {
    throw new ToolError(
      "ReverseThinkingStopped",
      `Cannot run "${tool.name}": reverse thinking returned no valid verdict`,
    );
  }
  const findings = redactor.redactValue(found.data).value as typeof found.data;
  call.attempt.reverse_thinking = findings;
  const { verdict, verdict_reason } = findings;
  if (verdict === "proceed") return call;
  throw new ToolError(
    "ReverseThinkingStopped",
    `Cannot run "${tool.name}": reverse thinking says ${verdict}: ${verdict_reason}`,
    { verdict, verdict_reason },
  );
}

/** If the challenge fails, the call does not run. */
async function ask(onReverseThinking: OnReverseThinking, call: Permitted): Promise<unknown> {
  try {
    return await onReverseThinking(hookCall(call));
  } catch (error) {
    if (call.options.signal?.aborted === true) throw error;
    const { name } = call.tool;
    const why = error instanceof ToolError ? `: ${error.message}` : "";
    throw new ToolError("ReverseThinkingStopped", `Cannot run "${name}": reverse thinking failed${why}`, {}, error);
  }
}

/** The view of a call that hooks of the host get. */
export function hookCall({ request, tool, args }: Checked): HookCall {
  return { tool_call_id: request.tool_call_id, tool: tool.name, version: tool.version, args };
}
