import { decide as judge } from "../policy/decide.ts";
import type { CallFacts } from "../policy/decide.ts";
import type { ToolFacts } from "../policy/facts.ts";
import { ToolError } from "../protocol/errors.ts";
import type { DecidingParts, GateCall } from "./call.ts";
import { need } from "./call.ts";

/** Step 4: the policy's decision. A denial ends the call; approval is requested in step 6. */
export function decide(call: GateCall, { workspace, settings }: DecidingParts): void {
  const decision = judge(factsOf(call), workspace, settings);
  call.decision = decision;
  if (decision.effect !== "DENY") return;
  throw new ToolError(decision.code ?? "ToolNotAllowed", decision.reason, { rule: decision.rule });
}

/** The facts that the policy evaluates. */
export function factsOf(call: GateCall): CallFacts {
  const { risk, touches, commands, addresses, options, restores } = call;
  const { requested_permissions: requested } = call.request;
  const { chat, user } = options;
  const who = { ...(chat === undefined ? {} : { chat }), ...(user === undefined ? {} : { user }) };
  const run = commands.length === 0 ? {} : { commands };
  const asked = addresses.length === 0 ? {} : { addresses };
  return {
    tool: toolAsCalled(call),
    risk: need(risk, "risk"),
    touches,
    ...(restores ? { restores } : {}),
    ...run,
    ...asked,
    ...(requested === undefined ? {} : { requested }),
    ...who,
  };
}

/** The tool as this call uses it: a read-only call has no side effects, even if other calls of the tool do. */
function toolAsCalled(call: GateCall): ToolFacts {
  const tool = need(call.tool, "tool");
  if (tool.only_looks === undefined) return tool;
  const { name, permission_class, required_permissions, requires_checkpoint } = tool;
  const side_effects = onlyLooks(call) ? (["none"] as const) : tool.side_effects;
  return { name, permission_class, required_permissions, requires_checkpoint, side_effects };
}

export function onlyLooks({ tool, args }: GateCall): boolean {
  return args !== undefined && tool?.only_looks?.(args) === true;
}
