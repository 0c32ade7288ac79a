import { isInside, pathFor } from "../../paths/inside.ts";
import {
  findLaterPlace,
  isInertKey,
  isInPackages,
  judgeSensitivity,
  runsLater,
} from "../../policy/paths/check-path.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import type { ExternalChange } from "../files/external-changes.ts";
import { isNamed } from "../sandbox/named-places.ts";
import { decodeKey, folderOf, keyOf } from "../system/keys.ts";
import type { WatchRequest } from "./command-watch.ts";
import { versionOf } from "./describe-differences.ts";
import type { ContentStore } from "../tree/content-store.ts";
import { laterBehind } from "./closed-names.ts";
import type { CommandIntrusion } from "../../contract/command-changes.ts";
import type { Difference } from "./compare-snapshots.ts";
import { findInBareRepositories, isHarmless, RUNS_IN_REPOSITORY } from "./git-changes.ts";
import type { KnownSnapshots } from "./git-changes.ts";
import type { TreeSnapshot } from "../tree/tree-snapshot.ts";
import { findMoved } from "./moved-files.ts";
import type { UnapprovedChange, RevertedChange } from "../files/revert-unapproved.ts";

/**
 * Run-later files that were made or changed in a way that something would run, and new files that are off limits to all
 * tools and that a program would obey. A file that is only named like a key stays: package installers make some. Removed
 * files are not included: they can be undone, and restoring them at once would leave parts of a deleted folder.
 */
export function findUnapproved(
  differences: readonly Difference[],
  snapshots: KnownSnapshots & WorkspaceContext,
): readonly UnapprovedChange[] {
  const isMoved = findMoved(snapshots);
  const byPlace = differences.flatMap((difference) => {
    const { key, after } = difference;
    if (after?.place === undefined) return [];
    const before = difference.before?.kind === "directory" ? undefined : difference.before;
    // A folder by itself runs nothing.
    if (after.place === "later" && after.kind === "directory" && before === undefined) return [];
    // Closed files are never read, so old and new content cannot be compared.
    if (after.place === "sensitive" && (before !== undefined || isInertKey(decodeKey(key), snapshots))) return [];
    if (before === undefined && isMoved(difference)) return [];
    if (after.place === "later" && isHarmless(difference, snapshots)) return [];
    return [{ key, before, after }];
  });
  const known = new Set(byPlace.map(({ key }) => key));
  return [...byPlace, ...findInBareRepositories(differences, snapshots).filter(({ key }) => !known.has(key))];
}

/** Facts for deciding who made a change. */
interface ReachFacts {
  readonly request: Pick<WatchRequest, "opens" | "closes" | "confirmed">;
  readonly workspace: WorkspaceContext;
  readonly snapshots: Readonly<Record<"before" | "after", TreeSnapshot>>;
}

/**
 * Whether a change cannot be the command's: in a sandbox, files that run later and files that rules close are read-only
 * or hidden. Then another program made the change, and it stays.
 */
export function isOutOfReach({ key, before, after }: Difference, facts: ReachFacts): boolean {
  const { opens, closes, confirmed } = facts.request;
  const { sandbox, roots } = facts.workspace;
  if (sandbox === "none") return false;
  const real = decodeKey(key);
  if (closes !== undefined && isClosed(key, closes, roots)) return true;
  const isLaterFile = before?.place === "later" && before.kind !== "directory" && after !== undefined;
  if (!isLaterFile || confirmed === true || findLaterPlace(real, { roots })?.rewritten === true) return false;
  // A link cannot be a mount point: it is read-only only where its folder is.
  if (before.kind === "link" && facts.snapshots.before.folders.get(folderOf(key))?.isLater !== true) return false;
  // In package folders only named paths are read-only in a sandbox, so that package managers work.
  if (isInPackages(real, facts.workspace) && !isNamed(real, facts.workspace)) return false;
  if (wasMoved(key, facts)) return false;
  const isGit = /\/[^/]*\.git(?:\/|$)/.test(real);
  return !(isGit && opens?.git !== undefined) && opens?.paths.some((path) => isInside(path, real)) !== true;
}

/**
 * Whether a parent folder was replaced. The read-only mounts moved with the old folder, and a command can make a new one
 * with a file of the same name in it.
 */
function wasMoved(key: string, { snapshots: { before, after }, workspace }: ReachFacts): boolean {
  for (let at = folderOf(key); at !== "" && !workspace.roots.includes(decodeKey(at)); at = folderOf(at)) {
    if (before.folders.get(at)?.facts.inode !== after.folders.get(at)?.facts.inode) return true;
  }
  return false;
}

/** Rules apply from the roots down; everything in a closed folder is closed too. */
function isClosed(key: string, closes: NonNullable<WatchRequest["closes"]>, roots: readonly string[]): boolean {
  for (let at = key; at !== "" && !roots.includes(decodeKey(at)); at = folderOf(at)) {
    if (closes.judge(decodeKey(at), at !== key) !== undefined) return true;
  }
  return false;
}

/** The undo record of a file that is set aside. Empty for a file that is off limits to all tools: it is never read. */
export function quarantineRecord(
  { key, before, after }: UnapprovedChange,
  cwd: string,
  contents: Pick<ContentStore, "read">,
): readonly ExternalChange[] {
  if (after.place === "sensitive" || after.kind === "directory") return [];
  if (after.kind === "file" && after.sha256 === undefined) return [];
  const real = decodeKey(key);
  const bytes = keyOf(real) === key ? {} : { key };
  return [
    {
      file: { path: pathFor(real, cwd), real, ...bytes, before: versionOf(after), after: versionOf(before) },
      content: () => (after.sha256 === undefined ? undefined : contents.read(after.sha256)),
    },
  ];
}

export function describeReverted(
  { entry, outcome, problem }: RevertedChange,
  { workspace, cwd, isOwn }: { readonly workspace: WorkspaceContext; readonly cwd: string; readonly isOwn: boolean },
): CommandIntrusion {
  const real = decodeKey(entry.key);
  const why =
    entry.after.place === "sensitive"
      ? judgeSensitivity(real, workspace)?.reason
      : (runsLater(real, workspace) ?? laterBehind(real, workspace) ?? RUNS_IN_REPOSITORY);
  const change = entry.before === undefined ? "added" : "changed";
  const problemPart = problem === undefined ? {} : { problem };
  // A session never learns the names of another session's files, only their kind.
  const path = isOwn ? pathFor(real, cwd) : `**/${findLaterPlace(real, workspace)?.path ?? "*"}`;
  return { path, real, why: why ?? "", change, outcome, ...problemPart };
}
