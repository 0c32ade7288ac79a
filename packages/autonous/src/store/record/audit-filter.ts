import { matchPerson } from "@autonous/runtime";
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

/** Whom a call is asked for by, in each of the ways that an audit record names. */
export interface ActorFilter {
  /** A user, as any part of the actor names one. */
  readonly actor?: string;
  readonly channel?: string;
  readonly chat?: string;
}

/** A longer pattern counts as a name. */
const LONGEST_GLOB = 1024;

/**
 * Compares names as rules do: a name, or a glob such as `telegram:*`. `actor` is a user, a model or a host: whichever of
 * them the record has. For many records, compile once.
 */
export function compileActors(wanted: ActorFilter): (record: Pick<AuditRecord, "actor">) => boolean {
  const meant = (pattern: string | undefined): ((name: string | null) => boolean) => {
    if (pattern === undefined) return () => true;
    if (pattern.length > LONGEST_GLOB) return (name) => name === pattern;
    const matches = matchPerson(pattern);
    return (name) => matches(name ?? undefined);
  };
  const [isActor, isChannel, isChat] = [meant(wanted.actor), meant(wanted.channel), meant(wanted.chat)];
  return ({ actor }) => {
    // Records of before this version have none.
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

/** Which calls; times are when they began. */
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
  /** Give it as `after` for the next page, which may be there though this one is not full; null: there is none. */
  readonly next: number | null;
}
