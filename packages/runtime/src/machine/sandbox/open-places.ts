import { existsSync, lstatSync, readdirSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import type { OpenedPlaces } from "../../contract/processes.ts";
import { isInside } from "../../paths/inside.ts";
import { findLaterPlace } from "../../policy/paths/check-path.ts";
import type { GitPlaces } from "../../policy/facts.ts";
import { foldPath } from "../../policy/paths/fold-name.ts";
import { pointedTo } from "../../policy/git/git-pointers.ts";
import { addsOnlyPlain } from "../../policy/git/git-settings.ts";
import { programsInTodo } from "../../policy/git/git-todo.ts";
import { readRegular } from "../system/read-regular.ts";
import type { CommandEnvironment } from "../processes/environment.ts";
import type { FoundPlaces } from "./find-places.ts";
import { holdsNamed } from "./named-places.ts";

interface OpenOptions {
  readonly roots: readonly string[];
  readonly git_places?: GitPlaces;
  readonly environment: CommandEnvironment;
}

interface OpenedAccess {
  readonly found: FoundPlaces;
  /** Additional variables for the command. */
  readonly variables: Readonly<Record<string, string>>;
}

/** With these git runs neither hooks nor a file system monitor, regardless of its configuration. */
const NO_HOOKS: Readonly<Record<string, string>> = {
  GIT_CONFIG_COUNT: "2",
  GIT_CONFIG_KEY_0: "core.hooksPath",
  GIT_CONFIG_VALUE_0: "/dev/null",
  GIT_CONFIG_KEY_1: "core.fsmonitor",
  GIT_CONFIG_VALUE_1: "false",
};

/**
 * The protected paths without those that the command may change. Removed instead of mounted writable: a mount point
 * cannot be replaced, and git writes files by replacing them. Hidden paths always stay hidden.
 */
export function openPlaces(found: FoundPlaces, opens: OpenedPlaces | undefined, options: OpenOptions): OpenedAccess {
  if (opens === undefined) return { found, variables: {} };
  if (opens.git === undefined || opens.git === "all") {
    const isOpen = (path: string): boolean =>
      isGits(path, options) ? opens.git === "all" : opens.later === true && !isProgram(path, options);
    const opened = withPrograms(without(found, opens.paths, isOpen), { before: found, paths: opens.paths, ...options });
    const isPinned = (path: string): boolean => nameOf(path) === ".git" || holdsNamed(path, options);
    return {
      found: opens.later === true ? { ...opened, pinned: opened.pinned.filter(isPinned) } : opened,
      variables: {},
    };
  }
  const PATH = pathOutside(options);
  if (PATH === "" || (opens.git === "work" && !runNothing(found, options))) return { found, variables: {} };
  const isOpen = (path: string): boolean => isGits(path, options) && isConfiguration(path);
  // A program called git in the workspace must not be used.
  return { found: without(found, [], isOpen), variables: { ...NO_HOOKS, PATH } };
}

function without(found: FoundPlaces, paths: readonly string[], isOpen: (path: string) => boolean): FoundPlaces {
  const isBelow = (path: string): boolean => paths.some((each) => isInside(each, path));
  const isAbove = (path: string): boolean => paths.some((each) => isInside(path, each));
  return {
    ...found,
    read_only: found.read_only.filter((path) => !isBelow(path) && !isAbove(path) && !isOpen(path)),
    pinned: found.pinned.filter((path) => !isBelow(path)),
  };
}

/** For read-only paths: one that is not in the tables belongs to a repository with an unusual name. */
function isGits(path: string, options: OpenOptions): boolean {
  const place = findLaterPlace(path, options);
  return place === undefined || isNamedByGit(path, options) || /^\*?\.git(?:\/|$)/.test(place.path);
}

function isNamedByGit(path: string, { git_places = [] }: OpenOptions): boolean {
  return git_places.some(
    (named) => named.is_program !== true && named.is_linked !== true && isInside(named.path, path),
  );
}

function isProgram(path: string, { git_places = [] }: OpenOptions): boolean {
  return git_places.some(
    (named) => named.is_program === true && named.is_packages !== true && isInside(named.path, path),
  );
}

/** In opened package folders, this program's own packages stay closed unless a word of the command names them. */
function withPrograms(
  found: FoundPlaces,
  { before, paths, git_places = [] }: OpenOptions & { readonly before: FoundPlaces; readonly paths: readonly string[] },
): FoundPlaces {
  const closed = new Set(found.read_only);
  const opened = before.read_only.filter((path) => !closed.has(path));
  const own = git_places.filter(({ is_program, is_packages }) => is_program === true && is_packages !== true);
  const kept = opened.flatMap((folder) => {
    const isGiven = (path: string): boolean => paths.some((each) => isInside(each, path) || isInside(path, each));
    const inside = own.map(({ path }) => path).filter((path) => path !== folder && isInside(folder, path));
    return inside.filter((path) => !isGiven(path) && isFileOrFolder(path)).map((path) => ({ folder, path }));
  });
  const outermost = kept.filter(({ path }) => !kept.some((other) => other.path !== path && isInside(other.path, path)));
  const pinned = outermost.flatMap(({ folder, path }) => foldersBetween(folder, path));
  return {
    ...found,
    read_only: [...found.read_only, ...outermost.map(({ path }) => path)],
    pinned: [...new Set([...found.pinned, ...pinned])].sort(),
  };
}

/** Folders from `folder` down to the parent of the path: renaming one would move the mounts in it. */
function foldersBetween(folder: string, path: string): readonly string[] {
  const found: string[] = [];
  for (let above = dirname(path); isInside(folder, above); above = dirname(above)) found.push(above);
  return found;
}

function isFileOrFolder(path: string): boolean {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    return stats?.isFile() === true || stats?.isDirectory() === true;
  } catch {
    return false; // not accessible to us, and so not to the command
  }
}

function nameOf(path: string): string {
  return foldPath(path.slice(path.lastIndexOf("/") + 1));
}

function isConfiguration(path: string): boolean {
  return /^config(?:\.worktree)?$/.test(nameOf(path));
}

function pathOutside({ environment, roots }: OpenOptions): string {
  const folders = (environment.variables["PATH"] ?? "").split(":");
  return folders
    .filter((folder) => isAbsolute(folder) && !roots.some((root) => isInside(root, join(folder))))
    .join(":");
}

/** Size limit of a file that git obeys; larger files are not judged. */
const MAX_BYTES = 1 << 20;

/** Whether git, in every repository below the roots, runs no program but itself. */
function runNothing({ read_only, pinned, left_out }: FoundPlaces, options: OpenOptions): boolean {
  if (left_out > 0) return false;
  const repositories = pinned.filter((path) => nameOf(path) === ".git");
  return (
    repositories.every((path) => isFileOrNothing(join(path, "config")) && rebasesWithoutPrograms(path)) &&
    read_only.filter((path) => isGits(path, options)).every((path) => runsNothing(path, options))
  );
}

function runsNothing(path: string, options: OpenOptions): boolean {
  const { roots } = options;
  const name = nameOf(path);
  if (isNamedByGit(path, options)) return false; // git's configuration uses it
  try {
    if (name === "hooks") return readdirSync(path).every((hook) => hook.endsWith(".sample"));
    if (name === "attributes") return true; // harmless without programs
    const content = readRegular(path, MAX_BYTES);
    if (content === undefined) return false;
    if (isConfiguration(path)) return addsOnlyPlain("", content.toString("latin1"), () => true);
    const target = pointedTo(content.toString("utf8"), dirname(path));
    return target !== undefined && roots.some((root) => isInside(root, target));
  } catch {
    return false; // gone, or not a file
  }
}

/** Whether no unfinished rebase in a repository or its worktrees would run a program when it continues. */
function rebasesWithoutPrograms(repository: string): boolean {
  try {
    const worktrees = join(repository, "worktrees");
    const folders = existsSync(worktrees) ? readdirSync(worktrees).map((name) => join(worktrees, name)) : [];
    return [repository, ...folders].every((folder) => {
      const todo = join(folder, "rebase-merge/git-rebase-todo");
      if (!existsSync(todo)) return true;
      const content = readRegular(todo, MAX_BYTES);
      return content !== undefined && programsInTodo(content.toString("latin1")).length === 0;
    });
  } catch {
    return false; // gone, or not a file
  }
}

function isFileOrNothing(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isFile() !== false;
  } catch {
    return false; // not accessible to us, so unknown
  }
}
