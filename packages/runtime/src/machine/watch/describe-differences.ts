import { pathFor } from "../../paths/inside.ts";
import { isRemovableKey } from "../../policy/paths/check-path.ts";
import type { Places } from "../../policy/facts.ts";
import type { Version } from "../../contract/undo-keeper.ts";
import { isInStore } from "./closed-names.ts";
import { decodeKey, folderOf, keyOf, nameOf } from "../system/keys.ts";
import type { CommandChange } from "../../contract/command-changes.ts";
import type { Difference } from "./compare-snapshots.ts";
import { findHardLinks, linkedTo } from "./hard-links.ts";
import { identityHash } from "../files/entry-state.ts";
import type { ContentStore } from "../tree/content-store.ts";
import { closedBefore } from "./moved-files.ts";
import type { ExternalChange } from "../files/external-changes.ts";
import { haveSameContent } from "../tree/tree-snapshot.ts";
import type { TreeEntry, TreeSnapshot } from "../tree/tree-snapshot.ts";
import type { TreeLimits } from "../tree/tree-limits.ts";

/** Changes of other calls meanwhile, by real path: the hash that they left, null if removed, undefined if not done. */
export type TouchedLookup = Pick<ReadonlyMap<string, string | null | undefined>, "has" | "get">;

interface DescribeOptions {
  readonly before: TreeSnapshot;
  readonly after: TreeSnapshot;
  readonly cwd: string;
  readonly contents: ContentStore;
  readonly limits: TreeLimits;
  /** Whether contents were stored at all. */
  readonly keeps: boolean;
  readonly touched: TouchedLookup;
  readonly workspace: Places;
}

export interface DescribedChange {
  readonly change: CommandChange;
  /** The change to record for undo; undefined where it cannot be undone. */
  readonly undo: ExternalChange | undefined;
  /** False for parent folders of other changes: they are undone with them. */
  readonly isListed: boolean;
}

/** What is reported about the differences, and what can be recorded for undo. */
export function describeChanges(
  differences: readonly Difference[],
  options: DescribeOptions,
): readonly DescribedChange[] {
  const around = new Set(differences.map(({ key }) => folderOf(key)));
  const names = findNames(options);
  return differences.map((difference): DescribedChange => {
    const { key, before, after } = difference;
    const real = decodeKey(key);
    const why_not = whyNot(difference, real, options);
    const { kind = "file" } = after ?? before ?? {};
    const path = `${pathFor(real, options.cwd)}${kind === "directory" ? "/" : ""}`;
    const facts = { path, real, kind, change: changeOf(difference) };
    const isRelevant = kind !== "directory" || facts.change === "mode" || !around.has(key);
    const isListed = isRelevant && (why_not !== undefined || !isInStore(`${real}/`));
    if (why_not !== undefined) return { change: { ...facts, undoable: false, why_not }, undo: undefined, isListed };
    const undo = undoOf(difference, facts, { contents: options.contents, names });
    return { change: { ...facts, undoable: true }, undo, isListed };
  });
}

type LinkedTo = (key: string, entry: TreeEntry | undefined) => readonly string[] | undefined;

/** Hard links of files, as the snapshot before and the snapshot after saw them. */
function findNames({ before, after }: Pick<DescribeOptions, "before" | "after">) {
  const namesIn = (snapshot: TreeSnapshot, other: TreeSnapshot): LinkedTo => {
    const links = findHardLinks(snapshot);
    const isStill = (key: string, { inode, sha256 }: TreeEntry): boolean => {
      const now = other.folders.get(folderOf(key))?.entries.get(nameOf(key));
      return now?.inode === inode && now.sha256 === sha256;
    };
    return (key, entry) => (entry === undefined ? undefined : linkedTo({ key, entry }, { links, isStill }));
  };
  return { before: namesIn(before, after), after: namesIn(after, before) };
}

/** Whether the file has the state in which another call left it. */
export function isDoneBy(touched: TouchedLookup, real: string, now: TreeEntry | undefined): boolean {
  if (!touched.has(real)) return false;
  const left = touched.get(real);
  return now?.kind === "file" ? left !== undefined && left === now.sha256 : left === null;
}

function changeOf({ before, after }: Difference): CommandChange["change"] {
  if (before === undefined) return "added";
  if (after === undefined) return "removed";
  if (before.kind === "directory" && after.kind === "directory") return "mode";
  const isSame = before.kind === after.kind && haveSameContent(before, after);
  return isSame && before.mode !== after.mode ? "mode" : "changed";
}

function undoOf(
  { key, before, after }: Difference,
  { path, real }: { readonly path: string; readonly real: string },
  { contents, names }: { readonly contents: ContentStore; readonly names: ReturnType<typeof findNames> },
): ExternalChange {
  const bytes = keyOf(real) === key ? {} : { key };
  // Content that was never read has no hash yet: it gets one when it is recorded.
  const isUnread = before?.git !== undefined && before.sha256 === undefined;
  const was = versionOf(isUnread ? { ...before, sha256: "" } : before, names.before(key, before));
  const now = versionOf(after, names.after(key, after));
  return {
    file: { path: path.replace(/\/$/, ""), real, ...bytes, before: was, after: now },
    content: () => (before === undefined ? undefined : contentOf(before, contents)),
  };
}

function contentOf({ sha256, git, size }: TreeEntry, contents: ContentStore): ReturnType<ExternalChange["content"]> {
  const kept = sha256 === undefined ? undefined : contents.read(sha256);
  if (kept !== undefined || git === undefined) return kept;
  return "oid" in git ? git.store.readBlob(git.oid, size) : git.store.readPinned(git.name, size);
}

export function versionOf(entry: TreeEntry | undefined, linked?: readonly string[]): Version | null {
  if (entry === undefined) return null;
  const { kind, mode, sha256 = identityHash(entry), size, target = "" } = entry;
  const owner = ownerOf(entry);
  if (kind === "directory") return { kind: "folder", mode, ...owner };
  if (kind === "link") return { kind, target, ...owner };
  if (kind === "other") return { kind, ...owner };
  return { sha256, size, mode, ...owner, ...(linked === undefined ? {} : { linked }) };
}

function ownerOf({ owner, group }: TreeEntry): { readonly owner?: { readonly user: number; readonly group: number } } {
  return owner === process.getuid?.() && group === process.getgid?.() ? {} : { owner: { user: owner, group } };
}

/** A new private key is removed unread, unless it may be an older one that was moved: its content was never stored. */
function isClosed({ before, after }: Difference, real: string, options: DescribeOptions): boolean {
  if ((before ?? after)?.place !== "sensitive") return false;
  if (before !== undefined || after === undefined || after.kind === "directory") return true;
  return !isRemovableKey(real, options.workspace) || closedBefore(options.before, options.after).size > 0;
}

/** Why a difference cannot be undone, as a clause. Undefined where it can. */
function whyNot({ key, before, after }: Difference, real: string, options: DescribeOptions): string | undefined {
  if (!options.keeps) return "a background process may have changed it";
  if (isClosed({ key, before, after }, real, options)) return "it is off limits to all tools";
  if (before?.kind === "directory" && !options.before.folders.has(key)) return "it was not scanned";
  if (after?.kind === "directory" && !options.after.folders.has(key)) return "it was not scanned";
  if (before?.kind === "other") return "it was a pipe, a socket or a device";
  if (options.touched.has(real)) return "another call changed it at the same time";
  if (before?.kind === "file" && before.git === undefined && !options.contents.has(before.sha256)) {
    return whyNotKept(before, options);
  }
  return undefined;
}

function whyNotKept({ size }: TreeEntry, { contents, limits }: DescribeOptions): string {
  if (contents.problem !== undefined) return `its old content could not be stored (${contents.problem})`;
  if (size > limits.file_bytes) return `it had ${size} bytes, and at most ${limits.file_bytes} are stored`;
  return "its old content was not stored: limit reached";
}
