/** Something that is worth knowing in a later run. */
export interface MemoryEntry {
  readonly id: string;
  readonly title: string;
  readonly knowledge: string;
  /** Milliseconds since the epoch. */
  readonly created_at: number;
  readonly updated_at: number;
}

/** One page of memory entries; `more` says whether another one follows. */
export interface MemoryPage {
  readonly entries: readonly MemoryEntry[];
  readonly more: boolean;
}

/** Where what was learnt is kept. Each method is whole: what it did survives kill -9. What comes in is redacted already. */
export interface MemoryKeeper {
  /** One with the same title and knowledge that is there already is given as it is. Throws `LimitReached`. */
  create(entry: {
    readonly title: string;
    readonly knowledge: string;
  }): Promise<{ readonly entry: MemoryEntry; readonly is_new: boolean }>;
  /** Undefined: there is none of that id. */
  update(
    id: string,
    change: { readonly title?: string; readonly knowledge?: string },
  ): Promise<{ readonly before: MemoryEntry; readonly after: MemoryEntry } | undefined>;
  /** Gives what was removed. */
  remove(id: string): Promise<MemoryEntry | undefined>;
  /** Undefined: there is none of that id. */
  get(id: string): Promise<MemoryEntry | undefined>;
  /** Puts back what an update or a removal took away. */
  restore(entry: MemoryEntry): Promise<void>;
  /** Newest first; `after`: those that come after this one. */
  list(options: {
    readonly limit: number;
    readonly after?: Pick<MemoryEntry, "id" | "created_at">;
  }): Promise<MemoryPage>;
  /** Those that have all these words, or their beginnings, best first. */
  search(query: string, options: { readonly limit: number }): Promise<MemoryPage>;
}
