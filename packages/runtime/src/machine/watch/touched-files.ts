import { decodeKey, folderOf, keyOf, nameOf } from "../system/keys.ts";
import type { Difference } from "./compare-snapshots.ts";
import type { TouchedLookup } from "./describe-differences.ts";
import { statsOf } from "../tree/list-folder.ts";
import type { TreeSnapshot } from "../tree/tree-snapshot.ts";

/** A real path and what a call left there: the hash, null if removed, undefined if not done yet. */
export type TouchedFile = readonly [real: string, sha256: string | null | undefined];

/** Above this count, entries that no running command needs are pruned. */
const PRUNE_AT = 10_000;

/**
 * File changes of other calls while commands run, so that a parallel command does not report them as its own. One list
 * for all commands, since some run for hours. Its size is bounded by about the number of existing files.
 */
export class TouchedFiles {
  readonly #files = new Map<string, { readonly sha256: string | null | undefined; readonly at: number }>();
  #count = 0;
  #pruneAt = PRUNE_AT;

  /** The current end of the list; pass it to `since`. */
  get position(): number {
    return this.#count;
  }

  get size(): number {
    return this.#files.size;
  }

  /** `snapshots` are the snapshots before the commands that still run; undefined for an unfinished one. */
  add(files: readonly TouchedFile[], snapshots: () => readonly (TreeSnapshot | undefined)[]): void {
    for (const [real, sha256] of files) this.#files.set(real, { sha256, at: ++this.#count });
    if (this.#files.size > this.#pruneAt) this.#prune(snapshots());
  }

  since(position: number): TouchedLookup {
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

  /** Drops files that neither exist nor existed when a running command began. */
  #prune(snapshots: readonly (TreeSnapshot | undefined)[]): void {
    for (const real of this.#files.keys()) {
      const key = keyOf(real);
      const wasThere = snapshots.some(
        (snapshot) => snapshot === undefined || snapshot.folders.get(folderOf(key))?.entries.has(nameOf(key)) === true,
      );
      if (!wasThere && statsOf(key) === undefined) this.#files.delete(real);
    }
    this.#pruneAt = Math.max(PRUNE_AT, 2 * this.#files.size);
  }
}

/** What a command left, where its author can be recognized. */
export function leftBy({ key, after }: Difference): readonly TouchedFile[] {
  if (after !== undefined && after.sha256 === undefined) return [];
  return [[decodeKey(key), after?.sha256 ?? null]];
}
