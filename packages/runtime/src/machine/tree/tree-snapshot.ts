import type { GitPlaces } from "../../policy/facts.ts";
import type { Stats } from "node:fs";
import type { EntryKind } from "../../contract/context.ts";
import { kindOf } from "../system/handle.ts";
import type { IgnoreRules } from "./ignore-rules.ts";

/** Facts that show whether an entry changed. Times are in milliseconds, finer than the clock that sets them. */
export interface Facts {
  readonly kind: EntryKind;
  readonly inode: number;
  readonly size: number;
  readonly modified: number;
  /** ctime: no program can set it, so it shows every change. */
  readonly touched: number;
  readonly mode: number;
  readonly owner: number;
  readonly group: number;
  /** Number of hard links. */
  readonly links: number;
}

/** later: runs later without approval (spec 3, Paths). sensitive: off limits to all tools; its content is never read. */
export type Place = "later" | "sensitive" | undefined;

/** A file of the object store: small ones as bytes, large ones as a descriptor that the caller closes. */
export type PinnedContent = { readonly bytes: Buffer } | { readonly fd: number; readonly sha256: string };

/** The objects of a git repository, as far as a snapshot at a tree uses them. */
export interface GitObjects {
  /** Its folder in the workspace, one character per byte. */
  readonly key: string;
  /** Whether objects are gone that the previous snapshot saw. */
  readonly hasLost: boolean;
  /** The final hash of each held file that ends with one, by name. */
  readonly trailers: ReadonlyMap<string, { readonly bytes: Buffer }>;
  readonly algorithm: string;
  has(oid: string): boolean;
  oidOf(content: Uint8Array): string;
  readBlob(oid: string, size: number): Buffer | undefined;
  readPinned(name: string, size: number): Promise<PinnedContent | undefined>;
}

/** Where git has the content of a file: as an object, or the file is itself part of git's object storage. */
export type GitSource = { readonly store: GitObjects } & ({ readonly oid: string } | { readonly name: string });

/** An entry of a folder, as one snapshot saw it. A later snapshot reuses the object where the entry is unchanged. */
export interface TreeEntry extends Facts {
  readonly place: Place;
  /** It was changed so shortly before the snapshot that a further change may have the same times. */
  readonly isYoung: boolean;
  /** Hash of its content, where that was read. */
  readonly sha256: string | undefined;
  /** Where git has the content, so that it needs no copy. */
  readonly git?: GitSource;
  /** Target of a link, one character per byte. */
  readonly target: string | undefined;
}

export interface TreeFolder {
  /** Its real path, one character per byte. */
  readonly key: string;
  /** The same as text. */
  readonly real: string;
  readonly facts: Facts;
  readonly isYoung: boolean;
  /** Everything below it runs later. */
  readonly isLater: boolean;
  /** By name, one character per byte. */
  readonly entries: ReadonlyMap<string, TreeEntry>;
  /** Git ignores it or a parent folder. */
  readonly isIgnored: boolean;
  /** The rules for the folder itself, and those for its entries. */
  readonly above: IgnoreRules;
  readonly rules: IgnoreRules;
}

/** The state of the roots, as one scan found it. */
export interface TreeSnapshot {
  readonly folders: ReadonlyMap<string, TreeFolder>;
  /** Folders, by key, that were not scanned, and why. */
  readonly left_out: ReadonlyMap<string, string>;
  /** Paths in git's configuration at that time; the place of each file was judged by them and the tables. */
  readonly git_places?: GitPlaces;
}

export function factsOf(stats: Stats): Facts {
  return {
    kind: kindOf(stats),
    inode: stats.ino,
    size: stats.size,
    modified: stats.mtimeMs,
    touched: stats.ctimeMs,
    mode: stats.mode & 0o7777,
    owner: stats.uid,
    group: stats.gid,
    links: stats.nlink,
  };
}

/** The owner is not compared: a change of it shows in `touched`, and does not change the content. */
export function haveSameFacts(one: Facts, other: Facts): boolean {
  return (
    one.touched === other.touched &&
    one.modified === other.modified &&
    one.size === other.size &&
    one.inode === other.inode &&
    one.mode === other.mode &&
    one.kind === other.kind
  );
}

/** Whether two contents are certainly the same: by their hash, or by git's object ID. */
export function haveSameContent(one: TreeEntry | undefined, other: TreeEntry | undefined): boolean {
  if (one?.sha256 !== undefined && one.sha256 === other?.sha256) return true;
  const oid = oidOf(one);
  return oid !== undefined && oid === oidOf(other);
}

export function oidOf(entry: TreeEntry | undefined): string | undefined {
  return entry?.git !== undefined && "oid" in entry.git ? entry.git.oid : undefined;
}

/** Longer than one tick of the kernel's clock for file times: 10 ms on the slowest systems. */
const YOUNG_MS = 20;

export function isYoungAt(nowMs: number, facts: Facts): boolean {
  return facts.touched > nowMs - YOUNG_MS;
}

/** `parent` is a real path with one character per byte. */
export function joinKey(parent: string, name: string): string {
  return parent === "/" ? `/${name}` : `${parent}/${name}`;
}

/** A placeholder: the folder's facts are read when it is scanned. */
export function folderEntry(place: TreeEntry["place"]): TreeEntry {
  const unknown = { inode: 0, size: 0, modified: 0, touched: 0, mode: 0, owner: 0, group: 0, links: 1 };
  return { kind: "directory", ...unknown, place, isYoung: false, sha256: undefined, target: undefined };
}
