import type { AuditRecord } from "@autonous/runtime";

/** How a call came out, in a word: what people search the record by. */
export const AUDIT_OUTCOMES = ["ok", "failed", "denied"] as const;
export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number];

export function outcomeOf({ result, policy }: Pick<AuditRecord, "result" | "policy">): AuditOutcome {
  if (result.ok) return "ok";
  return policy.decision === "DENY" || (policy.decision === "REQUIRE_CONFIRMATION" && policy.approved !== true)
    ? "denied"
    : "failed";
}

/** Which calls; times are when they began. */
export interface AuditFilter {
  readonly tool?: string;
  readonly outcome?: AuditOutcome;
  readonly run_id?: string;
  readonly since?: number;
  readonly until?: number;
  readonly limit: number;
  readonly after?: number;
}

export interface AuditPage {
  readonly records: readonly (AuditRecord & { readonly run_id: string; readonly task_id: string | null })[];
  /** Give it as `after` for the next page, which may be there though this one is not full; null: there is none. */
  readonly next: number | null;
}
