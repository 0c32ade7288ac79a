export interface Candidate {
  readonly key: string;
  readonly rank: string;
}

/** The first names by rank, selected from names in any order while holding at most twice the wanted number. */
export class SmallestNames {
  readonly #limit: number;
  readonly #kept = new Map<string, string>(); // rank to key: a repeated name counts once
  #bar: string | undefined;
  #dropped = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Names from this rank on can no longer be among the first. */
  get bar(): string | undefined {
    return this.#bar;
  }

  get isFull(): boolean {
    return this.#kept.size > this.#limit;
  }

  /** False if enough names precede it; the list is then already known to be incomplete. */
  mayTake({ rank }: Candidate): boolean {
    return this.#bar === undefined || rank <= this.#bar;
  }

  offer({ key, rank }: Candidate): void {
    this.#kept.set(rank, key);
    if (this.#kept.size > 2 * this.#limit) this.#trim();
  }

  result(): { readonly names: readonly Candidate[]; readonly more: boolean } {
    const names = this.#trim();
    return { names, more: this.#dropped };
  }

  #trim(): Candidate[] {
    const sorted = [...this.#kept.keys()].sort();
    const names = sorted.slice(0, this.#limit).map((rank) => ({ rank, key: this.#kept.get(rank) ?? "" }));
    if (sorted.length <= this.#limit) return names;
    this.#dropped = true;
    for (const rank of sorted.slice(this.#limit)) this.#kept.delete(rank);
    this.#bar = names.at(-1)?.rank;
    return names;
  }
}
