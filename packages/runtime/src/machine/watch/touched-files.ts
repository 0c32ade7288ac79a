import { decodeKey, folderOf, keyOf, nameOf } from "../search/keys.ts";
import type { Difference } from "./compare-looks.ts";
import type { Touched } from "./describe-changes.ts";
import { statsOf } from "./list-folder.ts";
import type { TreeLook } from "./tree-entry.ts";

/** A real path, and what a call left there: the hash, null for removed, undefined for not done yet. */
export type TouchedFile = readonly [real: string, sha256: string | null | undefined];

/** So many are remembered before it is asked which of them are of use. */
const PRUNE_AT = 10_000;

/**
 * What calls do to files while commands run: the commands that run beside them do not tell it as their own. One record
 * for all of them, since some run for hours. It holds about as many files as there are.
 */
export class TouchedFiles {
  readonly #files = new Map<string, { readonly sha256: string | null | undefined; readonly at: number }>();
  #count = 0;
  #pruneAt = PRUNE_AT;

  /** What is added from now on is `since` this. */
  get position(): number {
    return this.#count;
  }

  get size(): number {
    return this.#files.size;
  }

  /** `looks` are those that commands which still run began with; undefined for one that is not done. */
  add(files: readonly TouchedFile[], looks: () => readonly (TreeLook | undefined)[]): void {
    for (const [real, sha256] of files) this.#files.set(real, { sha256, at: ++this.#count });
    if (this.#files.size > this.#pruneAt) this.#prune(looks());
  }

  since(position: number): Touched {
    const find = (real: string) => {
      const file = this.#files.get(real);
      return file !== undefined && file.at > position ? file : undefined;
    };
    return { has: (real) => find(real) !== undefined, get: (real) => find(real)?.sha256 };
  }

  clear(): void {
    this.#files.clear();
    this.#pruneAt = PRUNE_AT;
  }

  /** What neither is there nor was there when a command began makes no difference to it. */
  #prune(looks: readonly (TreeLook | undefined)[]): void {
    for (const real of this.#files.keys()) {
      const key = keyOf(real);
      const wasThere = looks.some(
        (look) => look === undefined || look.folders.get(folderOf(key))?.entries.has(nameOf(key)) === true,
      );
      if (!wasThere && statsOf(key) === undefined) this.#files.delete(real);
    }
    this.#pruneAt = Math.max(PRUNE_AT, 2 * this.#files.size);
  }
}

/** What a command left, as far as that can be told from what others leave. */
export function leftBy({ key, after }: Difference): readonly TouchedFile[] {
  if (after !== undefined && after.sha256 === undefined) return [];
  return [[decodeKey(key), after?.sha256 ?? null]];
}
