import { isInside } from "../../paths/inside.ts";
import { findLaterPlace } from "../../policy/paths/check-path.ts";
import { looksLikeRepository, REPOSITORY_SETTINGS } from "../../policy/paths/dangers.ts";
import { foldPath } from "../../policy/paths/fold-name.ts";
import { pointedTo } from "../../policy/git/git-pointers.ts";
import { addsOnlyPlain } from "../../policy/git/git-settings.ts";
import { addsNoProgram } from "../../policy/git/git-todo.ts";
import { decodeKey, folderOf, nameOf } from "../system/keys.ts";
import type { Difference } from "./compare-snapshots.ts";
import type { ContentStore } from "../tree/content-store.ts";
import type { UnapprovedChange } from "../files/revert-unapproved.ts";
import { isSameFile } from "./moved-files.ts";
import type { ScannedSnapshots } from "./moved-files.ts";
import { joinKey } from "../tree/tree-snapshot.ts";
import type { TreeEntry, TreeFolder } from "../tree/tree-snapshot.ts";

/** Two snapshots, and the file contents at each of them. */
export interface KnownSnapshots extends ScannedSnapshots {
  readonly contents: Pick<ContentStore, "read">;
  /** Keys of folders that are new. */
  readonly folders_made: readonly string[];
}

/** Git's own places in the table of run-later files. */
const HOOKS: ReadonlySet<string> = new Set([".git/**/hooks", "*.git/hooks"]);
const OF_GIT = /^\*?\.git(?:\/|$)/;

/**
 * Whether a change of one of git's own run-later files cannot make git run anything: a configuration that gained only
 * harmless settings, a sample hook, the remaining steps of a rebase that runs nothing, the pointer of a worktree or
 * submodule to its repository, a branch with the name of such a file.
 */
export function isHarmless(difference: Difference, snapshots: KnownSnapshots): boolean {
  const { key, before, after } = difference;
  if (after?.kind !== "file" || (before !== undefined && before.kind !== "file")) return false;
  const place = findLaterPlace(decodeKey(key), snapshots);
  if (place === undefined || !OF_GIT.test(place.path)) return false;
  if (isInStore(key, snapshots)) return true;
  if (HOOKS.has(place.path)) return isSample(key);
  return isPlainFile(difference, snapshots);
}

/** Git never runs a file of this name. */
function isSample(key: string): boolean {
  return foldPath(nameOf(folderOf(key))) === "hooks" && nameOf(key).endsWith(".sample");
}

/** Judged by its name, in the folder of a repository or (`.git`) in a working folder. */
function isPlainFile({ key, before, after }: Difference, snapshots: KnownSnapshots): boolean {
  const now = textOf(after, snapshots);
  const name = foldPath(nameOf(key));
  if (now === undefined) return false;
  if (name === ".git" || name === "commondir") return leadsToRepository(now, folderOf(key), snapshots);
  const was = before === undefined ? "" : textOf(before, snapshots);
  if (name === "git-rebase-todo") return was !== undefined && addsNoProgram(was, now);
  if (name !== "config" && name !== "config.worktree") return false;
  return was !== undefined && addsOnlyPlain(was, now, (path) => isWorkTree(path, folderOf(key), snapshots));
}

/** One character per byte. Undefined where the content is not known. */
function textOf(entry: TreeEntry | undefined, { contents }: KnownSnapshots): string | undefined {
  return entry?.sha256 === undefined ? undefined : contents.read(entry.sha256)?.toString("latin1");
}

/**
 * Whether a pointer leads to a `.git` folder, or a folder in one, below a root: everything that git would run there is
 * compared too. The path of a scanned folder contains no links.
 */
function leadsToRepository(text: string, folder: string, { after, roots }: KnownSnapshots): boolean {
  const target = pointedTo(text, folder);
  if (target === undefined || !after.folders.has(target)) return false;
  const real = decodeKey(target);
  const root = roots.find((each) => isInside(each, real));
  return root !== undefined && foldPath(real.slice(root.length)).split("/").includes(".git");
}

/** Whether it is the working folder of a submodule: an ordinary folder below a root, outside the repository's own. */
function isWorkTree(path: string, folder: string, { roots }: KnownSnapshots): boolean {
  const real = decodeKey(pointedTo(path, folder) ?? "/");
  const isModule = /\/\.git\/(?:.*\/)?modules\//.test(foldPath(`${decodeKey(folder)}/`));
  const root = roots.find((each) => isInside(each, real) && real !== each);
  return isModule && root !== undefined && !isClosed(real, root, roots);
}

function isClosed(real: string, root: string, roots: readonly string[]): boolean {
  const isInGit = foldPath(real.slice(root.length)).split("/").includes(".git");
  return isInGit || findLaterPlace(`${real}/-`, { roots }) !== undefined;
}

/** Branches and their logs may be called `config` or `hooks/x`, unless another repository is hidden there. */
function isInStore(key: string, { after }: KnownSnapshots): boolean {
  const store = storeOf(key);
  if (store === undefined) return false;
  for (let folder = folderOf(key); folder.length >= store.length; folder = folderOf(folder)) {
    if (isRepository(after.folders.get(folder))) return false;
  }
  return true;
}

/** The folder of branches, or of their logs, that contains a key. */
function storeOf(key: string): string | undefined {
  const names = key.split("/");
  const git = names.indexOf(".git");
  const store = git < 0 ? -1 : names.findIndex((name, at) => at > git && (name === "refs" || name === "logs"));
  return store < 0 || store === names.length - 1 ? undefined : names.slice(0, store + 1).join("/");
}

function isRepository(folder: TreeFolder | undefined): folder is TreeFolder {
  return folder !== undefined && looksLikeRepository(folder.entries);
}

/**
 * Changes that made or altered a folder that git treats as a repository because of its contents, so that git would run
 * something there: the settings themselves or, where those are older, the files that made the folder a repository.
 */
export function findInBareRepositories(
  differences: readonly Difference[],
  snapshots: KnownSnapshots,
): readonly UnapprovedChange[] {
  const byKey = new Map(differences.map((difference) => [difference.key, difference]));
  let byInode: ReadonlyMap<number, TreeFolder> | undefined;
  return [...touchedFolders(differences, snapshots)].flatMap((key) => {
    const folder = snapshots.after.folders.get(key);
    if (!isRepository(folder) || isKnownByName(key, snapshots)) return [];
    const settings = settingsIn(folder, snapshots);
    byInode ??= new Map([...snapshots.before.folders.values()].map((each) => [each.facts.inode, each]));
    if (isMovedFrom(byInode.get(folder.facts.inode), { folder, settings, snapshots })) return [];
    const old = snapshots.before.folders.get(key);
    const changed = settings.flatMap((each) => byKey.get(each.key) ?? []);
    const bad = changed.filter((each) => !isHarmlessSetting(each, snapshots));
    const rest = settings.filter((each) => !byKey.has(each.key));
    if (!isRepository(old) && !rest.every((each) => isHarmlessSetting(each, snapshots)))
      bad.push(...newIn(folder, old));
    return bad.flatMap(({ key: at, before, after }) =>
      after === undefined ? [] : [{ key: at, before: before?.kind === "directory" ? undefined : before, after }],
    );
  });
}

/** Folders with a change in them, or in their `hooks` folder. */
function touchedFolders(differences: readonly Difference[], { folders_made }: KnownSnapshots): ReadonlySet<string> {
  const folders = new Set<string>();
  for (const key of [...differences.map((each) => each.key), ...folders_made]) {
    const folder = folderOf(key);
    folders.add(folder);
    if (nameOf(folder) === "hooks") folders.add(folderOf(folder));
  }
  return folders;
}

/** Whether the table of run-later files covers it, and nothing in it counts as a branch. */
function isKnownByName(key: string, { roots }: KnownSnapshots): boolean {
  const config = joinKey(key, "config");
  return storeOf(config) === undefined && findLaterPlace(decodeKey(config), { roots }) !== undefined;
}

interface MovedOptions {
  readonly folder: TreeFolder;
  readonly settings: readonly Difference[];
  readonly snapshots: KnownSnapshots;
}

/** Whether it is an older repository, with all its settings, under a new name. */
function isMovedFrom(origin: TreeFolder | undefined, { folder, settings, snapshots }: MovedOptions): boolean {
  if (!isRepository(origin) || origin.key === folder.key) return false;
  return settings.every(({ key, after }) => {
    const below = key.slice(folder.key.length + 1);
    const around = folderOf(below) === "" ? origin : snapshots.before.folders.get(joinKey(origin.key, folderOf(below)));
    return after !== undefined && isSameFile(around?.entries.get(nameOf(below)), after);
  });
}

function settingsIn({ key, entries }: TreeFolder, { after }: KnownSnapshots): readonly Difference[] {
  return [...REPOSITORY_SETTINGS].flatMap((name) => {
    const entry = entries.get(name);
    const at = joinKey(key, name);
    if (entry === undefined) return [];
    if (entry.kind !== "directory") return [{ key: at, before: undefined, after: entry }];
    const inside = after.folders.get(at)?.entries ?? new Map<string, TreeEntry>();
    return Array.from(inside, ([hook, each]) => ({ key: joinKey(at, hook), before: undefined, after: each }));
  });
}

function isHarmlessSetting(difference: Difference, snapshots: KnownSnapshots): boolean {
  const { key, before, after } = difference;
  if (after === undefined || after.kind === "directory") return true;
  if (after.kind !== "file" || (before !== undefined && before.kind !== "file")) return false;
  return nameOf(folderOf(key)) === "hooks" ? isSample(key) : isPlainFile(difference, snapshots);
}

function newIn({ key, entries }: TreeFolder, old: TreeFolder | undefined): readonly Difference[] {
  return ["HEAD", "commondir", "objects", "refs"].flatMap((name) => {
    const after = entries.get(name);
    return after === undefined || old?.entries.has(name) === true
      ? []
      : [{ key: joinKey(key, name), before: undefined, after }];
  });
}

/** Why a file in a folder that git treats as a repository is reverted. */
export const RUNS_IN_REPOSITORY = "git treats its folder as a repository and would run its settings";
