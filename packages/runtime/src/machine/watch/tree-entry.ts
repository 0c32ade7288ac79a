import type { GitPlaces } from "../../policy/facts.ts";
import type { Stats } from "node:fs";
import type { EntryKind } from "../../contract/context.ts";
import { kindOf } from "../files/handle.ts";
import type { ObjectStore } from "../git/object-store.ts";
import type { IgnoreRules } from "./ignore-rules.ts";

/** What tells whether something changed. Times are in milliseconds and finer than the clock that sets them. */
export interface Facts {
  readonly kind: EntryKind;
  readonly inode: number;
  readonly size: number;
  readonly modified: number;
  /** No program can set it, so it tells of every change. */
  readonly touched: number;
  readonly mode: number;
  readonly owner: number;
  readonly group: number;
  /** How many names it has. */
  readonly links: number;
}

/** later: runs unasked (spec 3, Paths). sensitive: closed to every tool; its content is never read. */
export type Place = "later" | "sensitive" | undefined;

/** Where git has the content of a file: as an object, or the file is one of those that git keeps its objects in. */
export type GitSource = { readonly store: ObjectStore } & ({ readonly oid: string } | { readonly name: string });

/** Something in a folder, as one look saw it. A later look that finds it unchanged holds the very same object. */
export interface TreeEntry extends Facts {
  readonly place: Place;
  /** It was changed so shortly before the look that a further change may show the same times. */
  readonly isYoung: boolean;
  /** Of its content, where that was read. */
  readonly sha256: string | undefined;
  /** Where the content is held, so that it needs no copy. */
  readonly git?: GitSource;
  /** Where a link leads, one character a byte. */
  readonly target: string | undefined;
}

export interface TreeFolder {
  /** Its real path, one character a byte. */
  readonly key: string;
  /** The same as text. */
  readonly real: string;
  readonly facts: Facts;
  readonly isYoung: boolean;
  /** All that lies below it runs later. */
  readonly isLater: boolean;
  /** By name, one character a byte. */
  readonly entries: ReadonlyMap<string, TreeEntry>;
  /** It, or a folder above it, is ignored by git. */
  readonly isIgnored: boolean;
  /** The rules that hold for the folder itself, and those for what is in it. */
  readonly above: IgnoreRules;
  readonly rules: IgnoreRules;
}

/** What one look at the roots saw. */
export interface TreeLook {
  readonly folders: ReadonlyMap<string, TreeFolder>;
  /** Folders, by key, that were not looked into, and why. */
  readonly left_out: ReadonlyMap<string, string>;
  /** What git's configuration named then: by it, and the tables, each file's place was judged. */
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

/** Who owns it is not asked: that changes `touched`, and is no change of what it holds. */
export function areSame(one: Facts, other: Facts): boolean {
  return (
    one.touched === other.touched &&
    one.modified === other.modified &&
    one.size === other.size &&
    one.inode === other.inode &&
    one.mode === other.mode &&
    one.kind === other.kind
  );
}

/** Whether two contents are surely the same: by their hash, or by the name that git has for both. */
export function holdSame(one: TreeEntry | undefined, other: TreeEntry | undefined): boolean {
  if (one?.sha256 !== undefined && one.sha256 === other?.sha256) return true;
  const oid = oidOf(one);
  return oid !== undefined && oid === oidOf(other);
}

export function oidOf(entry: TreeEntry | undefined): string | undefined {
  return entry?.git !== undefined && "oid" in entry.git ? entry.git.oid : undefined;
}

/** Longer than the kernel's clock for file times stands still: 10 ms on the slowest systems. */
const YOUNG_MS = 20;

export function isYoungAt(nowMs: number, facts: Facts): boolean {
  return facts.touched > nowMs - YOUNG_MS;
}

/** `parent` is a real path with one character a byte. */
export function joinKey(parent: string, name: string): string {
  return parent === "/" ? `/${name}` : `${parent}/${name}`;
}

/** The folder's own facts are taken when it is looked into. */
export function folderEntry(place: TreeEntry["place"]): TreeEntry {
  const unknown = { inode: 0, size: 0, modified: 0, touched: 0, mode: 0, owner: 0, group: 0, links: 1 };
  return { kind: "directory", ...unknown, place, isYoung: false, sha256: undefined, target: undefined };
}
