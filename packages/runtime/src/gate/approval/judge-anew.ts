import { checkArgs, findTool, resolvePaths } from "../steps/admit.ts";
import type { GateCall, GateParts } from "../call.ts";
import type { BoundCall } from "./describe-request.ts";
import { bindCall, digestOf, findBases, whatChanged } from "./digest.ts";
import { decide } from "../permit.ts";
import { staleApproval } from "../stale-approval.ts";

/** Repeats steps 1 to 4 on the current state. The arguments of an edited call are already converted. */
export async function judgeAnew(call: GateCall, parts: GateParts): Promise<void> {
  findTool(call, parts);
  if (call.is_edited) call.adapters = [];
  checkArgs(call, parts);
  await resolvePaths(call, parts);
  decide(call, parts);
}

/**
 * Time passed while a person decided: the call is evaluated again and must match what was approved. Otherwise the
 * approval is revoked and nothing runs.
 */
export async function refuseChanged(
  call: GateCall,
  parts: GateParts,
  { approval_id, bound }: { readonly approval_id: string; readonly bound: BoundCall },
): Promise<void> {
  try {
    await judgeAnew(call, parts);
    const now = { binding: await bindCall(call, parts), bases: await findBases(call, parts) };
    if (digestOf(now.binding, now.bases) === digestOf(bound.binding, bound.bases)) return;
    const pathOf = (real: string): string => call.touches.find((each) => each.real === real)?.path ?? real;
    throw staleApproval(call, whatChanged(bound, now, pathOf));
  } catch (error) {
    await parts.approvals.end(approval_id, "withdrawn");
    throw error;
  }
}
