import { matchPerson } from "@autonous/runtime/internal";
import type { AuditRecord } from "@autonous/runtime/internal";

/** Outcome of a call in one word, for searching the audit log. */
export const AUDIT_OUTCOMES = ["ok", "failed", "denied"] as const;
export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number];

export function outcomeOf({ result, policy }: Pick<AuditRecord, "result" | "policy">): AuditOutcome {
  if (result.ok) return "ok";
  return policy.decision === "DENY" || (policy.decision === "REQUIRE_CONFIRMATION" && policy.approved !== true)
    ? "denied"
    : "failed";
}

/** Who requested a call, by each field of an audit record that names someone. */
export interface ActorFilter {
  /** A user, in any field of the actor. */
  readonly actor?: string;
  readonly channel?: string;
  readonly chat?: string;
}

/** A longer pattern is compared literally. */
const MAX_GLOB = 1024;

/**
 * Compares names as rules do: a name, or a glob such as `telegram:*`. `actor` matches a user, a model or a host.
 * Compile once for many records.
 */
export function compileActors(wanted: ActorFilter): (record: Pick<AuditRecord, "actor">) => boolean {
  const meant = (pattern: string | undefined): ((name: string | null) => boolean) => {
    if (pattern === undefined) return () => true;
    if (pattern.length > MAX_GLOB) return (name) => name === pattern;
    const matches = matchPerson(pattern);
    return (name) => matches(name ?? undefined);
  };
  const [isActor, isChannel, isChat] = [meant(wanted.actor), meant(wanted.channel), meant(wanted.chat)];
  return ({ actor }) => {
    // Records of older versions have none.
    const {
      user = null,
      channel = "",
      chat = null,
      model = null,
      host = "",
    } = (actor as AuditRecord["actor"] | undefined) ?? {};
    return [user, model, host].some(isActor) && isChannel(channel) && isChat(chat);
  };
}

/** Which calls to return; times refer to their start. */
export interface AuditFilter extends ActorFilter {
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
  /** Pass it as `after` for the next page, even if this one is not full; null: no more pages. */
  readonly next: number | null;
}
