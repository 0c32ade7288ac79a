import type { Scope } from "../../protocol/decision.ts";
import { ToolError } from "../../protocol/errors.ts";
import type { GateParts } from "../parts.ts";
import { NOTHING_BOUND, waitFor } from "../stages.ts";
import type { Approved, Permitted, Refused } from "../stages.ts";
import { hookCall, standsForYes } from "../steps/reverse-thinking.ts";

/** Step 6: asks the checkpoint handler of the host, or else a person if the decision requires it. */
export function getApproval(call: Permitted, parts: GateParts): Approved | Promise<Approved> {
  if (call.tool.requires_checkpoint) return passCheckpoint(call, parts);
  if (call.decision.effect === "ALLOW") return { ...call, approval: null };
  if (standsForYes(call, parts)) return approve(call, { scope: "call", by: "reverse_thinking" });
  return confirmLate(call, parts);
}

/** Lazy: most processes never ask, and start faster without it. */
async function confirmLate(call: Permitted, parts: GateParts): Promise<Approved> {
  const { confirm } = await import("./confirm.ts");
  return await confirm(call, parts);
}

/** The handler answers for a person: an approved checkpoint needs no second question about the same call. */
async function passCheckpoint(call: Permitted, parts: GateParts): Promise<Approved> {
  const { onCheckpoint } = parts;
  if (onCheckpoint === undefined) throw new Error("Step 4 has to refuse a checkpoint tool without a handler");
  const { answer, by = null, reason } = await waitFor(call, parts.clock, () => onCheckpoint(hookCall(call)));
  if (answer === "grant") return approve(call, { scope: "call", by });
  refuse(call, by);
  throw new ToolError("CheckpointDenied", `Cannot run "${call.tool.name}": the checkpoint said no${because(reason)}`);
}

/** A yes that is bound to the call only. */
export function approve(call: Permitted, yes: { readonly scope: Scope; readonly by: string | null }): Approved {
  return { ...call, approval: { approved: true, ...yes, ...NOTHING_BOUND } };
}

/** Notes a no, for the record. The caller throws. */
export function refuse(call: Permitted, by: string | null): void {
  const refused: Refused = { ...call, approval: { approved: false, scope: null, by } };
  call.attempt.reached = refused;
}

/** Formats an optional reason as the end of a sentence. */
export function because(reason: string | undefined): string {
  return reason === undefined || reason === "" ? "" : `: ${reason}`;
}
