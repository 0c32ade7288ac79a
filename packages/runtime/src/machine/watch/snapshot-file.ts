import { OBJECT_BYTES } from "../git/object-store.ts";
import { findBlob } from "../git/work-tree.ts";
import type { GitKnowledge } from "../git/work-tree.ts";
import type { ContentStore } from "../tree/content-store.ts";
import { hashContent, readContent, readTarget } from "../tree/read-entry.ts";
import type { FolderToRead, ReadEntry } from "../tree/read-entry.ts";
import { haveSameFacts, isYoungAt, oidOf } from "../tree/tree-snapshot.ts";
import type { GitObjects, Facts, GitSource, Place, TreeEntry } from "../tree/tree-snapshot.ts";
import type { TreeLimits } from "../tree/tree-limits.ts";

/** What one snapshot has used so far. */
interface Budget {
  kept: number;
  readBytes: number;
  laterBytes: number;
  isLate: boolean;
}

/** Limit for stored bytes of run-later files per snapshot, in units of `call_bytes`. */
const LATER_CALLS = 4;

interface FileOptions {
  readonly name: string;
  /** Its current state, and its entry in the previous snapshot. */
  readonly facts: Facts;
  readonly before: TreeEntry | undefined;
  readonly place: Place;
  readonly git: GitKnowledge;
  readonly toRead: FolderToRead;
  readonly nowMs: number;
  readonly isAfter: boolean;
  readonly keeps: boolean;
  readonly contents: ContentStore;
  readonly limits: TreeLimits;
  readonly budget: Budget;
  /** Whether a rule hides it from the command. Called only where the file would be read. */
  readonly isHidden: () => boolean;
}

/** The entry of anything but a folder: reused from the previous snapshot where nothing changed, else read. */
export function snapshotFile(options: FileOptions): TreeEntry | Promise<TreeEntry> {
  const { facts, before, contents, budget, git, name } = options;
  const isSame = before !== undefined && haveSameFacts(before, facts);
  if (git.held?.names.has(name) === true && facts.kind === "file") {
    const known = isSame ? before : entryOf(options, { facts, sha256: undefined });
    if (known.git !== undefined) return known;
    return { ...known, git: { store: git.held.store, name: `${git.held.folder}/${name}` } };
  }
  const oid = before === undefined ? unreadBlob(options) : undefined;
  if (oid !== undefined) return { ...entryOf(options, { facts, sha256: undefined }), ...inGit(options, oid) };
  const useful = wanted(options, isSame);
  const how = useful !== "no" && options.isHidden() ? "no" : useful;
  if (how === "kept") return keep(options);
  if (how === "hashed") return hashOnly(options);
  if (!isSame) return entryOf(options, { facts, sha256: undefined });
  if (contents.has(before.sha256)) budget.kept++;
  return before;
}

/** The git object of a file that no snapshot has seen before: only then are the times in the index trusted. */
function unreadBlob({ facts, place, git, keeps, isAfter, name, nowMs, isHidden }: FileOptions): string | undefined {
  const isUsual = facts.kind === "file" && place === undefined && facts.size <= OBJECT_BYTES;
  if (!isUsual || git.place === undefined || !keeps || isAfter || isYoungAt(nowMs, facts)) return undefined;
  return isHidden() ? undefined : findBlob(git.place, name, facts);
}

/** The repository that may have the content: before a command the enclosing one, after it the one that had it. */
function storeFor({ git, before }: FileOptions): GitObjects | undefined {
  return git.place?.tree.store ?? (oidOf(before) === undefined ? undefined : before?.git?.store);
}

function inGit(options: FileOptions, oid: string | undefined): { readonly git?: GitSource } {
  const store = storeFor(options);
  if (store === undefined || oid === undefined) return {};
  const isThere = options.isAfter ? oidOf(options.before) === oid : store.has(oid);
  return isThere ? { git: { store, oid } } : {};
}

/** Whether the content is stored, or still in the repository. */
function isKept({ before, contents, git, isAfter }: FileOptions): boolean {
  if (contents.has(before?.sha256)) return true;
  const source = before?.git;
  if (source === undefined || isAfter) return source !== undefined;
  const store = git.place?.tree.store;
  return store === source.store && (!store.hasLost || ("oid" in source && store.has(source.oid)));
}

async function hashOnly(options: FileOptions): Promise<TreeEntry> {
  const { budget, facts, toRead, name } = options;
  budget.readBytes += facts.size;
  const found = await hashContent({ folder: toRead, name, facts }, storeFor(options)?.algorithm);
  confirm(options, found.oid);
  return { ...entryOf(options, found), ...inGit(options, found.oid) };
}

function confirm({ git, name }: FileOptions, oid: string | undefined): void {
  git.place?.tree.confirm(git.place.prefix + name, oid);
}

/** Whether a file is read, and whether its content is stored or only hashed. */
function wanted(options: FileOptions, isSame: boolean): "no" | "kept" | "hashed" {
  const { facts, before, place, isAfter, keeps, limits, git } = options;
  if (facts.kind !== "file" || place === "sensitive") return "no";
  const isCertain = isSame && before?.isYoung === false;
  if (isCertain && (isAfter || isKept(options))) return "no";
  if (place === "later") return fitsLater(options) ? "kept" : "no";
  if (isSame && isAfter && before?.sha256 === undefined && before?.git === undefined) return "no";
  if (keeps && fits(options)) return "kept";
  // New files need a hash to recognize them later; changed ones, to compare with the old state or another call's.
  const isOfUse = isAfter
    ? before === undefined || before.sha256 !== undefined || before.git !== undefined || !keeps
    : // Git may have the content of a file that is too large to be stored; that is enough.
      keeps && git.place?.tree.tracks(git.place.prefix + options.name) === true && !isKnownOutside(options, isSame);
  return isOfUse && facts.size <= limits.hash_bytes && !options.budget.isLate ? "hashed" : "no";
}

/** Whether it was read already, and git does not have it. */
function isKnownOutside({ before, git }: FileOptions, isSame: boolean): boolean {
  return isSame && before?.sha256 !== undefined && before.git === undefined && git.place?.tree.isSettled === true;
}

/** Run-later files are few and small, so they have their own, separate limits. */
function fitsLater({ facts, limits, budget }: FileOptions): boolean {
  return facts.size <= limits.later_bytes && budget.laterBytes + facts.size <= LATER_CALLS * limits.call_bytes;
}

function fits({ facts, limits, budget, contents }: FileOptions): boolean {
  return (
    facts.size <= limits.file_bytes &&
    budget.kept < limits.keep_files &&
    budget.readBytes + facts.size <= limits.call_bytes &&
    contents.canTake(facts.size) &&
    !budget.isLate
  );
}

function keep(options: FileOptions): TreeEntry {
  const { contents, budget, place, limits, toRead, name, facts } = options;
  let source: ReturnType<typeof inGit> = {};
  const found = readContent({
    folder: toRead,
    name,
    facts,
    limit_bytes: place === "later" ? limits.later_bytes : limits.file_bytes,
    onContent: (sha256, content) => {
      const oid = place === "later" ? undefined : storeFor(options)?.oidOf(content);
      confirm(options, oid);
      source = inGit(options, oid);
      if (source.git !== undefined) return;
      if (place === "later") budget.laterBytes += content.length;
      else budget.readBytes += content.length;
      if (contents.keep(sha256, content)) budget.kept++;
    },
  });
  return { ...entryOf(options, found), ...(found.sha256 === undefined ? {} : source) };
}

function entryOf({ place, nowMs, toRead, name }: FileOptions, { facts, sha256 }: ReadEntry): TreeEntry {
  const target = facts.kind === "link" ? readTarget(toRead, name) : undefined;
  return { ...facts, place, isYoung: isYoungAt(nowMs, facts), sha256, target };
}
