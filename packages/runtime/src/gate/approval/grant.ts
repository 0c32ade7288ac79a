import type { Approval } from "../../protocol/approval.ts";
import type { GateParts } from "../call.ts";

/**
 * Turns an approval for longer than one call into a grant: who gave it, where and when, and a description of its scope.
 */
export async function addGrant(parts: GateParts, { request, answer, answered_at }: Approval): Promise<void> {
  const { scope = "call", offer: wanted, by = null, via = null } = answer ?? {};
  if (scope === "call") return;
  const offer = wanted === undefined ? request.offers[0] : request.offers.find((each) => each.offer === wanted);
  if (offer === undefined) return; // a scope that was not offered counts for this call only
  const { run_id, approval_id } = request;
  await parts.approvals.addGrant({
    grant_id: approval_id.replace(/^apr_/, "grant_"), // one grant per request, however often its answer is applied
    scope,
    run_id,
    session: parts.session ?? run_id,
    pattern: offer.pattern,
    words: offer.words,
    approval_id,
    by,
    via,
    granted_at: answered_at ?? new Date(parts.clock()).toISOString(),
  });
}
