import type { Approval } from "../protocol/approval.ts";
import type { GateParts } from "./call.ts";

/** A yes for longer than the call becomes a grant: who gave it, where and when, and what it lets through in words. */
export async function addGrant(parts: GateParts, { request, answer, answered_at }: Approval): Promise<void> {
  const { scope = "call", offer: wanted, by = null, via = null } = answer ?? {};
  if (scope === "call") return;
  const offer = wanted === undefined ? request.offers[0] : request.offers.find((each) => each.offer === wanted);
  if (offer === undefined) return; // a yes to what was not offered is a yes to this call
  const { run_id, approval_id } = request;
  await parts.approvals.addGrant({
    grant_id: approval_id.replace(/^apr_/, "grant_"), // one for one request, however often its answer is followed
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
