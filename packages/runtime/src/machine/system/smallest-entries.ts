import type { Dirent } from "node:fs";
import type { Entry, Listing, ListOptions } from "../../contract/context.ts";
import { isHiddenName } from "../../policy/paths/check-path.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import { kindOf } from "./handle.ts";
import { isTemporaryName } from "./temporary-name.ts";

interface Options extends ListOptions {
  readonly workspace: WorkspaceContext;
}

interface Candidate {
  readonly key: string;
  readonly name: string;
  readonly entry: Dirent;
}

/**
 * The first entries of a folder in byte order, selected from entries in any order while holding at most twice the
 * wanted number.
 */
export class SmallestEntries {
  readonly #options: Options;
  readonly #folder: string;
  #kept: Candidate[] = [];
  #bar: string | undefined; // entries after this one can no longer be among the first
  #dropped = false;
  #hidden = 0;

  constructor(options: Options, folderBytes: string) {
    this.#options = options;
    this.#folder = decodeName(folderBytes);
  }

  offer(key: string, entry: Dirent): void {
    const { after, show_sensitive, workspace, limit, skip } = this.#options;
    if (after !== undefined && key <= after) return;
    const past = this.#bar !== undefined && key > this.#bar;
    const name = decodeName(key);
    if (skip?.(name) === true || isTemporaryName(name)) return;
    if (isKeptBack(this.#folder, name, { workspace, show_sensitive: show_sensitive === true })) {
      this.#hidden++;
      return;
    }
    if (past) {
      this.#dropped = true;
      return;
    }
    this.#kept.push({ key, name, entry });
    if (this.#kept.length > 2 * limit) this.#trim();
  }

  listing(): Listing {
    this.#trim();
    const entries = this.#kept.map(({ key, name, entry }): Entry => ({ name, key, kind: kindOf(entry) }));
    return { entries, more: this.#dropped, hidden: this.#hidden };
  }

  #trim(): void {
    this.#kept.sort((a, b) => (a.key < b.key ? -1 : 1));
    if (this.#kept.length <= this.#options.limit) return;
    this.#dropped = true;
    this.#kept.length = this.#options.limit;
    this.#bar = this.#kept.at(-1)?.key;
  }
}

/** The runtime's own state stays hidden even from callers that may see sensitive names. */
function isKeptBack(
  folder: string,
  name: string,
  { workspace, show_sensitive }: { workspace: WorkspaceContext; show_sensitive: boolean },
): boolean {
  if (!show_sensitive) return isHiddenName(folder, name, workspace);
  return workspace.state_dirs.includes(folder.endsWith("/") ? `${folder}${name}` : `${folder}/${name}`);
}

const NOT_ASCII = /[\u0080-\u00ff]/;

/** Decodes a name with one character per byte for display. */
function decodeName(bytes: string): string {
  return NOT_ASCII.test(bytes) ? Buffer.from(bytes, "latin1").toString("utf8") : bytes;
}
