/** A fact worth knowing in later runs. */
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

/** Stores memory entries. Each method is atomic and survives kill -9. Input is already redacted. */
export interface MemoryKeeper {
  /** If an entry with the same title and knowledge exists, returns it. Throws `LimitReached`. */
  create(entry: {
    readonly title: string;
    readonly knowledge: string;
  }): Promise<{ readonly entry: MemoryEntry; readonly is_new: boolean }>;
  /** Undefined: unknown id. */
  update(
    id: string,
    change: { readonly title?: string; readonly knowledge?: string },
  ): Promise<{ readonly before: MemoryEntry; readonly after: MemoryEntry } | undefined>;
  /** Returns the removed entry. */
  remove(id: string): Promise<MemoryEntry | undefined>;
  /** Undefined: unknown id. */
  get(id: string): Promise<MemoryEntry | undefined>;
  /** Restores an entry that was updated or removed. */
  restore(entry: MemoryEntry): Promise<void>;
  /** Newest first; `after`: continue after this entry. */
  list(options: {
    readonly limit: number;
    readonly after?: Pick<MemoryEntry, "id" | "created_at">;
  }): Promise<MemoryPage>;
  /** Entries that contain all words (prefixes match too), best first. */
  search(query: string, options: { readonly limit: number }): Promise<MemoryPage>;
}
