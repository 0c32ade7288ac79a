import type { Counted } from "../protocol/counted.ts";

/** How much was used, by what is counted. */
export type Counts = Readonly<Partial<Record<Counted, number>>>;

/** Whose use it is. */
export interface QuotaHolder {
  readonly run_id: string;
  readonly chat?: string;
  readonly user?: string;
}

/** Where use is counted. Makers: memory (library, command line), a table (service). */
export interface QuotaKeeper {
  /** How much a run, chat or user has used since then. */
  used(holder: { readonly per: "run" | "chat" | "user"; readonly id: string }, since_ms: number): Promise<QuotaUse>;
  add(holder: QuotaHolder, counts: Counts, now_ms: number): Promise<void>;
}

/** How much of a quota's window is used. */
export interface QuotaUse {
  readonly counts: Readonly<Record<Counted, number>>;
  /** When the oldest of it was used, which is when the window begins to empty. Null: nothing was. */
  readonly oldest_ms: number | null;
}
