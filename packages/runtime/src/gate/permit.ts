import { decide as judge } from "../policy/decide.ts";
import type { CallFacts } from "../policy/decide.ts";
import type { ToolFacts } from "../policy/facts.ts";
import { ToolError } from "../protocol/errors.ts";
import type { DecidingParts } from "./parts.ts";
import type { Admitted, Checked, Decided, Permitted } from "./stages.ts";

/** Step 4: the policy's decision. */
export function decide(call: Admitted, { workspace, settings }: DecidingParts): Decided {
  return { ...call, decision: judge(factsOf(call), workspace, settings) };
}

/** A denial ends the call; approval is requested in step 6. */
export function refuseDenied(call: Decided): Permitted {
  if (isPermitted(call)) return call;
  const { code, reason, rule } = call.decision;
  throw new ToolError(code ?? "ToolNotAllowed", reason, { rule });
}

function isPermitted(call: Decided): call is Permitted {
  return call.decision.effect !== "DENY";
}

/** The facts that the policy evaluates. */
export function factsOf(call: Admitted): CallFacts {
  const { risk, touches, commands, addresses, options, restores } = call;
  const { requested_permissions: requested } = call.request;
  const { chat, user } = options;
  return {
    tool: toolAsCalled(call),
    risk,
    touches,
    ...(restores ? { restores } : {}),
    ...(commands.length === 0 ? {} : { commands }),
    ...(addresses.length === 0 ? {} : { addresses }),
    ...(requested === undefined ? {} : { requested }),
    ...(chat === undefined ? {} : { chat }),
    ...(user === undefined ? {} : { user }),
  };
}

/** The tool as this call uses it: a read-only call has no side effects, even if other calls of the tool do. */
function toolAsCalled(call: Checked): ToolFacts {
  const { tool } = call;
  if (tool.only_looks === undefined) return tool;
  const { name, permission_class, required_permissions, requires_checkpoint } = tool;
  const side_effects = onlyLooks(call) ? (["none"] as const) : tool.side_effects;
  return { name, permission_class, required_permissions, requires_checkpoint, side_effects };
}

export function onlyLooks({ tool, args }: Checked): boolean {
  return tool.only_looks?.(args) === true;
}
