import { hash } from "node:crypto";
import { statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { userStateFolder } from "../journal/heads.ts";
import { resolvePath } from "../machine/system/resolve.ts";
import { bindFolder } from "../machine/state/bind-folder.ts";
import { examineFolder, problemOfParent } from "../machine/state/examine-folder.ts";
import { trackedIn, workTreesAbove } from "../machine/state/git-index.ts";
import { hasMark } from "../machine/state/mark.ts";
import { isInside } from "../paths/inside.ts";

/** Identifies the wanted state folder. */
export interface StateOptions {
  /** The working folder: the automatic folder is named after it, and a relative name is relative to it. */
  readonly workspace: string;
  /** A folder named by the user or the host. Omitted: the automatic one. */
  readonly state_dir?: string | undefined;
  readonly environment?: NodeJS.ProcessEnv;
}

/** The input of `checkState`. */
export interface StateCheck extends StateOptions {
  /** The real paths of the folders that tools may touch. */
  readonly roots: readonly string[];
  /** The user claims an unmarked folder. */
  readonly adopting?: boolean;
}

/**
 * The state folder of a workspace: the given folder, else one in the user's state directory, which files that come with
 * a workspace cannot reach. Links above the folder are resolved; its own name is kept. Creates nothing.
 */
export function locateState(stateOptions: StateOptions): string {
  const path = spelledPath(stateOptions);
  return join(resolvePath(dirname(path), "/").real, basename(path));
}

function spelledPath({ workspace, state_dir, environment = process.env }: StateOptions): string {
  const { real } = resolvePath(workspace, "/");
  return state_dir === undefined ? automaticFolder(real, environment) : resolve(real, state_dir);
}

const KEY_DIGITS = 16;
const MAX_NAME = 40;

/** `<name>-<key>`: the name for people, the key for the real path. No other entry of that directory ends in a key. */
function automaticFolder(real: string, environment: NodeJS.ProcessEnv): string {
  const name = basename(real)
    .replace(/[^A-Za-z0-9._-]/g, "_")
    .replace(/^[.-]+/, "")
    .slice(0, MAX_NAME);
  const key = hash("sha256", real, "hex").slice(0, KEY_DIGITS);
  return join(userStateFolder(environment), `${name === "" ? "workspace" : name}-${key}`);
}

/** The key of all marks. */
function markKey(environment: NodeJS.ProcessEnv): string {
  return join(userStateFolder(environment), "mark.key");
}

/**
 * Why the state folder cannot be trusted, with what to do; undefined if it can. Called before anything in it is read,
 * because crash recovery, the queue, the token and the approvals all act on its content. Reads only the mark and
 * changes nothing.
 */
export function checkState(check: StateCheck): string | undefined {
  const state_dir = locateState(check);
  const why = problemOf(state_dir, check);
  return why === undefined ? undefined : `the state folder "${state_dir}" cannot be used: ${why}`;
}

function problemOf(state_dir: string, check: StateCheck): string | undefined {
  const { environment = process.env, roots, adopting = false } = check;
  const parent = check.state_dir === undefined ? problemOfParent(dirname(state_dir)) : problemOfSpelling(check);
  if (parent !== undefined) return parent;
  const { isShared, workTrees } = surroundingsOf(state_dir, roots);
  const examined = examineFolder(state_dir, { thorough: isShared });
  if ("problem" in examined) return examined.problem;
  if (!isShared) return undefined;
  const key = markKey(environment);
  const tracked = trackedIn(state_dir, workTrees) ?? trackedIn(dirname(key), workTreesAbove(dirname(key)));
  if (tracked !== undefined) return problemOfTracked(tracked);
  if (examined.use !== "used" || adopting || hasMark(state_dir, key)) return undefined;
  return "it is in a workspace or a repository and has no mark of this user and machine, so it may have come from someone else, and nothing in it was read; move it away, name another folder with --state-dir or AUTONOUS_STATE_DIR, or run autonous state adopt if it is yours";
}

/** Whether others can write to the folder: tools work in it, or a repository puts files there. */
function surroundingsOf(path: string, roots: readonly string[]): { isShared: boolean; workTrees: readonly string[] } {
  const workTrees = workTreesAbove(path);
  return { isShared: workTrees.length > 0 || roots.some((root) => isInside(root, path)), workTrees };
}

function problemOfTracked(tracked: string): string {
  return tracked === "unknown"
    ? "it is in a repository whose index cannot be read, so git may have put files there; repair the repository, or name another folder with --state-dir or AUTONOUS_STATE_DIR"
    : `git tracks ${JSON.stringify(tracked)} in it, so it comes from the repository; run git rm -r --cached on it if the state is yours, move it away, or name another folder with --state-dir or AUTONOUS_STATE_DIR`;
}

/** A link in the workspace could redirect the state to any place. */
function problemOfSpelling(check: StateCheck): string | undefined {
  const spelled = spelledPath(check);
  const real = resolvePath(dirname(spelled), "/").real;
  const isLed = check.roots.some((root) => isInside(root, spelled)) && real !== dirname(spelled);
  return isLed ? `"${spelled}" leads there through a link in the workspace; name the folder itself` : undefined;
}

/** Roots that tools may touch, and roots that are the state folder itself, which stays closed. */
export interface SplitRoots {
  readonly open: readonly string[];
  readonly own: readonly string[];
}

/**
 * Splits the real paths of roots: the state folder may be given as a root, which does not open it. It must be separated
 * before roots are mounted, watched or searched, because all of these expect open roots.
 */
export function splitRootsOf(state_dir: string, roots: readonly string[]): SplitRoots {
  return { open: roots.filter((root) => root !== state_dir), own: roots.filter((root) => root === state_dir) };
}

/** Roots that are the state folder under another path: closed paths are compared by name, and a mount has two. */
export function aliasProblems(state_dir: string, roots: readonly string[]): string[] {
  const state = statSync(state_dir, { throwIfNoEntry: false });
  if (state === undefined) return [];
  return roots.flatMap((root) => {
    const found = statSync(root, { throwIfNoEntry: false });
    if (root === state_dir || found?.ino !== state.ino || found.dev !== state.dev) return [];
    return [`the root "${root}" cannot be used: it is the state folder "${state_dir}" mounted a second time`];
  });
}

/** Whether a state folder contains nothing but its mark. */
export function isUnusedState(state_dir: string): boolean {
  const examined = examineFolder(state_dir, { thorough: false });
  return "use" in examined && examined.use !== "used";
}

/** Checks the state folder, creates it if missing, and binds it to this user and machine. */
export function openState(check: StateCheck): { readonly state_dir: string; readonly problem?: string } {
  const state_dir = locateState(check);
  const problem = checkState(check);
  if (problem !== undefined) return { state_dir, problem };
  const { environment = process.env } = check;
  const { isShared } = surroundingsOf(state_dir, check.roots);
  const { real } = resolvePath(check.workspace, "/");
  const workspace = state_dir === locateState({ workspace: real, environment }) ? real : undefined;
  try {
    bindFolder(state_dir, { keyFile: markKey(environment), isShared, workspace });
    return { state_dir };
  } catch (error) {
    const { code = (error as Error).message } = error as NodeJS.ErrnoException;
    return {
      state_dir,
      problem: `the state folder "${state_dir}" cannot be created (${code}); choose another one with state_dir or AUTONOUS_STATE_DIR`,
    };
  }
}
