import { staleApproval } from "../context/approved-content.ts";
import { evaluate } from "../evaluate.ts";
import type { GateParts } from "../parts.ts";
import { refuseDenied } from "../permit.ts";
import type { Opened, Permitted } from "../stages.ts";
import { boundCall, digestOf, whatChanged } from "./digest.ts";
import type { BoundCall } from "./digest.ts";

/** Repeats steps 1 to 4 on the current state. If one of them fails, the call stays as it was evaluated before. */
export async function reevaluate({ attempt, ...call }: Opened, parts: GateParts): Promise<Permitted> {
  const { request, options, is_edited } = call;
  const decided = await evaluate({ attempt, request, options, is_edited }, parts);
  attempt.reached = decided;
  return refuseDenied(decided);
}

/**
 * Time passed while a person decided: the call is evaluated again and must match what was approved. Otherwise the
 * approval is revoked and nothing runs.
 */
export async function refuseChanged(
  call: Permitted,
  parts: GateParts,
  { approval_id, bound }: { readonly approval_id: string; readonly bound: BoundCall },
): Promise<Permitted> {
  try {
    const current = await reevaluate(call, parts);
    const now = await boundCall(current, parts);
    if (digestOf(now.binding, now.bases) === digestOf(bound.binding, bound.bases)) return current;
    const pathOf = (real: string): string => current.touches.find((each) => each.real === real)?.path ?? real;
    throw staleApproval(call, whatChanged(bound, now, pathOf));
  } catch (error) {
    await parts.approvals.end(approval_id, "withdrawn");
    throw error;
  }
}
