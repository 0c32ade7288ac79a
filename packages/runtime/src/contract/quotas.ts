import type { CountedResource } from "../protocol/counted.ts";

/** Usage per counted resource. */
export type Counts = Readonly<Partial<Record<CountedResource, number>>>;

/** Identifies whose usage is counted. */
export interface QuotaHolder {
  readonly run_id: string;
  readonly chat?: string;
  readonly user?: string;
}

/** Counts usage. Implementations: memory (library, command line), a table (service). */
export interface QuotaKeeper {
  /** Usage of a run, chat or user since then. */
  used(holder: { readonly per: "run" | "chat" | "user"; readonly id: string }, since_ms: number): Promise<QuotaUse>;
  add(holder: QuotaHolder, counts: Counts, now_ms: number): Promise<void>;
}

/** Usage within a quota's window. */
export interface QuotaUse {
  readonly counts: Readonly<Record<CountedResource, number>>;
  /** Time of the oldest usage in the window. Null: no usage. */
  readonly oldest_ms: number | null;
}
