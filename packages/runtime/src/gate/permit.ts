import { decide as judge } from "../policy/decide.ts";
import { ToolError } from "../protocol/errors.ts";
import type { DecidingParts, GateCall, GateParts } from "./call.ts";
import { need } from "./call.ts";

/** Step 4: the policy's decision. A denial ends the call; a confirmation is asked for in step 6. */
export function decide(call: GateCall, { workspace, settings }: DecidingParts): void {
  const tool = need(call.tool, "tool");
  const { chat, user } = call.options;
  const facts = { tool, risk: need(call.risk, "risk"), touches: call.touches, ...(chat === undefined ? {} : { chat }), ...(user === undefined ? {} : { user }) };
  const decision = judge(facts, workspace, settings);
  call.decision = decision;
  if (decision.effect !== "DENY") return;
  throw new ToolError(decision.code ?? "ToolNotAllowed", `Cannot run "${tool.name}": ${decision.reason}`, { rule: decision.rule });
}

/** Step 5. */
export function takeQuota(call: GateCall, { settings, quota }: GateParts): void {
  const most = settings.configuration.quotas.calls_per_run;
  if (most !== undefined && quota.taken >= most) {
    throw new ToolError("QuotaExceeded", `Cannot run "${call.request.name}": this run has used its ${most} calls; a new run starts afresh`, { calls_per_run: most });
  }
  quota.taken++;
}
