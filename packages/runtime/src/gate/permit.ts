import { decide as judge } from "../policy/decide.ts";
import type { CallFacts } from "../policy/decide.ts";
import { ToolError } from "../protocol/errors.ts";
import type { DecidingParts, GateCall } from "./call.ts";
import { need } from "./call.ts";

/** Step 4: the policy's decision. A denial ends the call; a confirmation is asked for in step 6. */
export function decide(call: GateCall, { workspace, settings }: DecidingParts): void {
  const decision = judge(factsOf(call), workspace, settings);
  call.decision = decision;
  if (decision.effect !== "DENY") return;
  throw new ToolError(decision.code ?? "ToolNotAllowed", decision.reason, { rule: decision.rule });
}

/** What the policy looks at. */
export function factsOf({ tool, risk, touches, commands, addresses, options: { chat, user } }: GateCall): CallFacts {
  const who = { ...(chat === undefined ? {} : { chat }), ...(user === undefined ? {} : { user }) };
  const run = commands.length === 0 ? {} : { commands };
  const asked = addresses.length === 0 ? {} : { addresses };
  return { tool: need(tool, "tool"), risk: need(risk, "risk"), touches, ...run, ...asked, ...who };
}
