import { constants, lstatSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { CommandChanges } from "../../contract/command-changes.ts";
import type { PlaceJudge } from "../../contract/processes.ts";
import { pathFor } from "../../paths/inside.ts";
import { isHiddenFrom } from "../../policy/check-git.ts";
import type { Places, TrackedFiles, WorkspaceContext } from "../../policy/facts.ts";
import { readRegular } from "../files/read-regular.ts";
import { parseIndex } from "./index-file.ts";

/** Above this a look at the index would hold up the decision. */
const INDEX_BYTES = 64 << 20;
const POINTER_BYTES = 4096;

export interface Repository {
  readonly top: string;
  readonly gitdir: string;
}

/** What git knows in the repository that a folder lies in, by its index; git itself is not asked. Never throws. */
export function trackedFiles(folder: string): TrackedFiles | undefined {
  const repository = findRepository(folder);
  const bytes = repository && readIndex(repository);
  const index = bytes && parseIndex(bytes);
  if (repository === undefined || index === undefined) return undefined;
  const { top } = repository;
  return { top, files: Array.from(index.names(), (name) => pathOf(top, name)), isThere };
}

interface HiddenGround {
  readonly workspace: Pick<WorkspaceContext, keyof Places | "sandbox">;
  /** What rules hide besides. */
  readonly closes: Pick<PlaceJudge, "judge"> | undefined;
  /** Paths are shown relative to it. */
  readonly cwd: string;
}

/** For a command in a folder: what it made git forget that it did not see, told with its changes. */
export function noteHidden(
  folder: string,
  { workspace, closes, cwd }: HiddenGround,
): (changes: CommandChanges) => CommandChanges {
  const before = workspace.sandbox === "none" ? undefined : noteIndex(folder);
  return (changes) => {
    const untracked =
      before?.forgotten().filter((path) => isHiddenFrom(path, workspace, closes) && isThere(path)) ?? [];
    return untracked.length === 0 ? changes : { ...changes, untracked: untracked.map((path) => pathFor(path, cwd)) };
  };
}

/** The index as it is now, to find out later which of its files git knows no more. */
interface IndexBefore {
  /** Absolute paths. */
  forgotten(): readonly string[];
}

/** Undefined where there is no repository, or its index cannot be read. Never throws. */
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
    return true; // out of our reach, which is no proof that it is gone
  }
}

function pathOf(top: string, name: string): string {
  return `${top === "/" ? "" : top}/${Buffer.from(name, "latin1").toString("utf8")}`;
}

/** The one that a folder lies in. Never throws. */
export function findRepository(folder: string): Repository | undefined {
  try {
    for (let top = realpathSync(folder); ; top = dirname(top)) {
      const gitdir = gitdirOf(top);
      if (gitdir !== undefined) return { top, gitdir };
      if (top === "/") return undefined;
    }
  } catch {
    return undefined; // no such folder, or out of reach: then git knows nothing there either
  }
}

/** A folder, or in a worktree or submodule a file that points to one. */
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
    return undefined; // none yet, or out of reach
  }
}
