import { randomBytes } from "node:crypto";
import { closeSync, openSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import type { PlaceJudge } from "../../contract/processes.ts";
import { writeWhole } from "../system/bytes.ts";
import { ownProcess } from "../system/process-owner.ts";
import { makeStateFolders, stateFolders } from "../system/state-folders.ts";
import { isSystemError } from "../system/system-error.ts";
import { decodeKey } from "../system/keys.ts";
import type { ContentStore } from "../tree/content-store.ts";
import type { FolderFingerprints } from "./skipped-folders.ts";
import { haveSameFacts, joinKey } from "../tree/tree-snapshot.ts";
import type { GitObjects, Facts, GitSource, TreeEntry, TreeFolder, TreeSnapshot } from "../tree/tree-snapshot.ts";

/** Batch size: one system call per folder would cost more than writing its bytes. */
const BATCH_CHARACTERS = 1 << 20;
/** Yield to the event loop this often. */
const TURN_MS = 8;
/** Bytes beyond the size of a complete snapshot before the file is rewritten. */
const SPARE_BYTES = 64 << 20;

/** The order of kinds and places in stored entries. */
export const KINDS = ["file", "directory", "link", "other"] as const satisfies readonly Facts["kind"][];
export const PLACES = [undefined, "later", "sensitive"] as const satisfies readonly TreeEntry["place"][];

export type StoredFacts = readonly [
  kind: number,
  inode: number,
  size: number,
  modified: number,
  touched: number,
  mode: number,
  owner: number,
  group: number,
  links: number,
];
/** Number of the store, and the name of an object or of a file of the store. */
export type StoredSource = readonly [store: number, kind: "oid" | "name", name: string];
export type StoredEntry = readonly [
  name: string,
  facts: StoredFacts,
  place: number,
  young: 0 | 1,
  sha256: string | 0,
  source: StoredSource | 0,
  target: string | 0,
];

/** A line of the file. The lines before a `look` are what it saw; a repeated folder replaces the earlier one. */
export type StoredLine =
  | { readonly store: number; readonly key: string; readonly trailers: readonly (readonly [string, string])[] }
  | { readonly kept: readonly (readonly [sha256: string, at: number, size: number])[] }
  | {
      readonly folder: string;
      readonly facts: StoredFacts;
      readonly flags: readonly [isYoung: boolean, isLater: boolean, isIgnored: boolean];
      readonly entries: readonly StoredEntry[];
    }
  | { readonly gone: string }
  | {
      readonly look: string;
      readonly contents: string | null;
      readonly left_out: readonly (readonly [key: string, why: string, mark: string])[];
      readonly closed: readonly string[];
    };

interface ToStore {
  /** ID of the command. */
  readonly id: string;
  readonly leftOut: FolderFingerprints;
  readonly closes?: PlaceJudge | undefined;
  /** No other command of this process needs the earlier snapshots. */
  readonly isOnly: boolean;
}

/**
 * Stores the snapshots before commands on the disk: after a kill of the process, the next start finds what the command had changed.
 * Each snapshot appends only its differences from the previous one. Not synced: writes survive a kill of the process, and
 * after a power loss the result says that the changes are unknown. The caller closes it.
 */
export class SnapshotStore {
  readonly #state_dir: string;
  readonly #contents: ContentStore;
  #file: { readonly fd: number; readonly path: string } | undefined;
  #folders: TreeSnapshot["folders"] = new Map();
  #stores = new Map<GitObjects, { readonly number: number; readonly trailers: string }>();
  #spans = 0;
  #epoch = 0;
  #bytes = 0;
  #wholeBytes = 0;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(state_dir: string, contents: ContentStore) {
    this.#state_dir = state_dir;
    this.#contents = contents;
  }

  /** Returns the file name. Undefined where the snapshot cannot be stored: commands run even when the disk is full. */
  async store(snapshot: TreeSnapshot, options: ToStore): Promise<string | undefined> {
    const result = this.#turn.then(() => this.#tryToStore(snapshot, options));
    this.#turn = result.catch(() => {}); // reported to the caller of this turn
    return await result;
  }

  close(): void {
    if (this.#file !== undefined) {
      closeSync(this.#file.fd);
      rmSync(this.#file.path, { force: true });
    }
    this.#file = undefined;
    this.#folders = new Map();
    this.#stores = new Map();
    this.#spans = 0;
    this.#bytes = 0;
  }

  async #tryToStore(snapshot: TreeSnapshot, options: ToStore): Promise<string | undefined> {
    const isLong = options.isOnly && this.#bytes > 2 * this.#wholeBytes + SPARE_BYTES;
    if (this.#epoch !== this.#contents.epoch || isLong) this.close();
    try {
      return await this.#append(snapshot, options);
    } catch (error) {
      if (!isSystemError(error)) throw error;
      this.close();
      return undefined;
    }
  }

  async #append(snapshot: TreeSnapshot, { id, leftOut, closes }: ToStore): Promise<string> {
    this.#contents.flush();
    this.#epoch = this.#contents.epoch;
    const isFirst = this.#file === undefined;
    const { fd, path } = (this.#file ??= this.#open());
    const batch: string[] = [];
    let length = 0;
    const flush = (): void => {
      const bytes = Buffer.from(batch.join(""));
      writeWhole(fd, bytes);
      this.#bytes += bytes.length;
      batch.length = length = 0;
    };
    const add = (line: StoredLine): void => {
      const text = `${JSON.stringify(line)}\n`;
      batch.push(text);
      length += text.length;
      if (length > BATCH_CHARACTERS) flush();
    };
    for (const store of this.#stores.keys()) this.#addStore(store, add);
    await this.#addFolders(snapshot, add);
    this.#addSpans(add);
    const left_out = [...snapshot.left_out].map(([key, why]) => [key, why, leftOut.get(key) ?? ""] as const);
    const contents = this.#contents.path;
    const closed = closes === undefined ? [] : [...closedIn(snapshot, closes)];
    add({ look: id, contents: contents === undefined ? null : basename(contents), left_out, closed });
    flush();
    if (isFirst) this.#wholeBytes = this.#bytes;
    return basename(path);
  }

  #open(): { readonly fd: number; readonly path: string } {
    makeStateFolders(this.#state_dir);
    const path = join(stateFolders(this.#state_dir).looks, `${randomBytes(8).toString("hex")}@${ownProcess()}.look`);
    return { fd: openSync(path, "ax", 0o600), path };
  }

  async #addFolders(snapshot: TreeSnapshot, add: (line: StoredLine) => void): Promise<void> {
    let turnMs = performance.now() + TURN_MS;
    for (const [key, folder] of snapshot.folders) {
      if (!isStored(this.#folders.get(key), folder)) this.#addFolder(folder, add);
      if (performance.now() < turnMs) continue;
      await new Promise(setImmediate);
      turnMs = performance.now() + TURN_MS;
    }
    for (const key of this.#folders.keys()) if (!snapshot.folders.has(key)) add({ gone: key });
    this.#folders = snapshot.folders;
  }

  #addFolder({ key, facts, isYoung, isLater, isIgnored, entries }: TreeFolder, add: (line: StoredLine) => void): void {
    const stored = Array.from(entries, ([name, entry]): StoredEntry => [
      name,
      storedFacts(entry),
      PLACES.indexOf(entry.place),
      entry.isYoung ? 1 : 0,
      entry.sha256 ?? 0,
      entry.git === undefined ? 0 : this.#sourceOf(entry.git, add),
      entry.target ?? 0,
    ]);
    add({ folder: key, facts: storedFacts(facts), flags: [isYoung, isLater, isIgnored], entries: stored });
  }

  #sourceOf(source: GitSource, add: (line: StoredLine) => void): StoredSource {
    const number = this.#stores.get(source.store)?.number ?? this.#addStore(source.store, add);
    return "oid" in source ? [number, "oid", source.oid] : [number, "name", source.name];
  }

  /** A store is written before the lines that refer to it, and again where its packs changed. */
  #addStore(store: GitObjects, add: (line: StoredLine) => void): number {
    const known = this.#stores.get(store);
    const trailers = [...store.trailers].map(([name, { bytes }]) => [name, bytes.toString("hex")] as const);
    const text = trailers.join();
    const number = known?.number ?? this.#stores.size;
    if (known?.trailers === text) return number;
    this.#stores.set(store, { number, trailers: text });
    add({ store: number, key: store.key, trailers });
    return number;
  }

  #addSpans(add: (line: StoredLine) => void): void {
    const { spans } = this.#contents;
    if (spans.size === this.#spans) return;
    const fresh = [...spans].slice(this.#spans).map(([sha256, { at, size }]) => [sha256, at, size] as const);
    add({ kept: fresh });
    this.#spans = spans.size;
  }
}

function storedFacts({ kind, inode, size, modified, touched, mode, owner, group, links }: Facts): StoredFacts {
  return [KINDS.indexOf(kind), inode, size, modified, touched, mode, owner, group, links];
}

/** Compares by identity: a snapshot reuses the object of an unchanged entry. */
function isStored(was: TreeFolder | undefined, now: TreeFolder): boolean {
  if (was === undefined || was.entries.size !== now.entries.size || !haveSameFacts(was.facts, now.facts)) return false;
  for (const [name, entry] of now.entries) if (was.entries.get(name) !== entry) return false;
  return true;
}

/** Keys of paths that rules close: changes of them are not the command's. Skips folders where no rule can apply. */
function* closedIn({ folders }: TreeSnapshot, closes: PlaceJudge): Iterable<string> {
  for (const { key, real, entries } of folders.values()) {
    if (!closes.mayCloseBelow(real)) continue;
    for (const [name, { kind }] of entries) {
      const at = joinKey(key, name);
      if (closes.judge(decodeKey(at), kind === "directory") !== undefined) yield at;
    }
  }
}
