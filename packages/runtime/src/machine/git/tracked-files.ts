import { constants, lstatSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { CommandChanges } from "../../contract/command-changes.ts";
import type { PlaceJudge } from "../../contract/processes.ts";
import { pathFor } from "../../paths/inside.ts";
import { isHiddenFrom } from "../../policy/git/check-git.ts";
import type { Places, TrackedFiles, WorkspaceContext } from "../../policy/facts.ts";
import { readRegular } from "../system/read-regular.ts";
import { parseIndex } from "./index-file.ts";

/** Reading a larger index would delay the decision. */
const INDEX_BYTES = 64 << 20;
const POINTER_BYTES = 4096;

export interface Repository {
  readonly top: string;
  readonly gitdir: string;
}

/** Tracked files of the repository that contains a folder. Reads the index without running git. Never throws. */
export function trackedFiles(folder: string): TrackedFiles | undefined {
  const repository = findRepository(folder);
  const bytes = repository && readIndex(repository);
  const index = bytes && parseIndex(bytes);
  if (repository === undefined || index === undefined) return undefined;
  const { top } = repository;
  return { top, files: Array.from(index.names(), (name) => pathOf(top, name)), isThere };
}

interface HiddenPaths {
  readonly workspace: Pick<WorkspaceContext, keyof Places | "sandbox">;
  /** Additional paths that rules hide. */
  readonly closes: Pick<PlaceJudge, "judge"> | undefined;
  /** Base of the displayed paths. */
  readonly cwd: string;
}

/** For a command in a folder: reports, with its changes, hidden files that the command removed from git's index. */
export function noteHidden(
  folder: string,
  { workspace, closes, cwd }: HiddenPaths,
): (changes: CommandChanges) => CommandChanges {
  const before = workspace.sandbox === "none" ? undefined : noteIndex(folder);
  return (changes) => {
    const untracked =
      before?.forgotten().filter((path) => isHiddenFrom(path, workspace, closes) && isThere(path)) ?? [];
    return untracked.length === 0 ? changes : { ...changes, untracked: untracked.map((path) => pathFor(path, cwd)) };
  };
}

/** A snapshot of the index, to find out later which files were removed from it. */
interface IndexBefore {
  /** Absolute paths. */
  forgotten(): readonly string[];
}

/** Undefined outside a repository, or if its index cannot be read. Never throws. */
export function noteIndex(folder: string): IndexBefore | undefined {
  const repository = findRepository(folder);
  const before = repository && readIndex(repository);
  if (repository === undefined || before === undefined) return undefined;
  return {
    forgotten() {
      const after = readIndex(repository);
      if (after === undefined || after.equals(before)) return [];
      const [old, now] = [parseIndex(before), parseIndex(after)];
      if (old === undefined || now === undefined || old.isSplit || now.isSplit) return [];
      const names = new Set(now.names());
      return Array.from(old.names())
        .filter((name) => !names.has(name))
        .map((name) => pathOf(repository.top, name));
    },
  };
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true; // not accessible, so it may still exist
  }
}

function pathOf(top: string, name: string): string {
  return `${top === "/" ? "" : top}/${Buffer.from(name, "latin1").toString("utf8")}`;
}

/** The repository that contains a folder. Never throws. */
export function findRepository(folder: string): Repository | undefined {
  try {
    for (let top = realpathSync(folder); ; top = dirname(top)) {
      const gitdir = gitdirOf(top);
      if (gitdir !== undefined) return { top, gitdir };
      if (top === "/") return undefined;
    }
  } catch {
    return undefined; // missing or not accessible, so git tracks nothing there either
  }
}

/** `.git` is a folder, or, in a worktree or submodule, a file that points to one. */
function gitdirOf(top: string): string | undefined {
  const path = join(top, ".git");
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory() === true) return path;
  if (stats?.isFile() !== true) return undefined;
  const text = readRegular(path, POINTER_BYTES, constants.O_NOFOLLOW)?.toString("utf8") ?? "";
  const [, target] = /^gitdir: ([^\n]+)/.exec(text) ?? [];
  return target === undefined ? undefined : resolve(top, target.trimEnd());
}

export function readIndex({ gitdir }: Repository): Buffer | undefined {
  try {
    return readRegular(join(gitdir, "index"), INDEX_BYTES, constants.O_NOFOLLOW);
  } catch {
    return undefined; // missing or not accessible
  }
}
