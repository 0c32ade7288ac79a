import { hash } from "node:crypto";
import { statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { userStateFolder } from "./journal/heads.ts";
import { resolvePath } from "./machine/files/resolve.ts";
import { bindFolder } from "./machine/state/bind-folder.ts";
import { examineFolder, problemOfParent } from "./machine/state/examine-folder.ts";
import { trackedIn, workTreesAbove } from "./machine/state/git-index.ts";
import { hasMark } from "./machine/state/mark.ts";
import { isInside } from "./paths/inside.ts";

/** Which state folder is wanted. */
export interface StateWish {
  /** The working folder: what the automatic folder is named after, and a relative name is relative to. */
  readonly workspace: string;
  /** A folder that the person or the host has named. Left out: the automatic one. */
  readonly state_dir?: string | undefined;
  readonly environment?: NodeJS.ProcessEnv;
}

/** What `checkState` needs to know about a state folder before it is used. */
export interface StateCheck extends StateWish {
  /** The real paths of the folders that tools may touch. */
  readonly roots: readonly string[];
  /** The person says that an unmarked folder is theirs. */
  readonly adopting?: boolean;
}

/**
 * Where the state of a workspace is: in the folder that was named, else in the user's state directory, where nothing
 * that comes with a workspace can put anything. Links above the folder are followed; its own name is kept. Makes nothing.
 */
export function locateState(wish: StateWish): string {
  const path = spelledPath(wish);
  return join(resolvePath(dirname(path), "/").real, basename(path));
}

function spelledPath({ workspace, state_dir, environment = process.env }: StateWish): string {
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
 * Why the state folder cannot be believed, with what to do; undefined where it can. Asked before anything in it is read:
 * crash recovery, the queue, the token and the approvals all act on what it says. Reads no content but the mark, and
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
  return "it lies in a workspace or a repository and has no mark of this user and machine, so it may have come from someone else, and nothing in it was read; move it away, name another folder with --state-dir or AUTONOUS_STATE_DIR, or run autonous state adopt if it is yours";
}

/** A folder that others may fill: tools work in it, or a repository puts files there. */
function surroundingsOf(path: string, roots: readonly string[]): { isShared: boolean; workTrees: readonly string[] } {
  const workTrees = workTreesAbove(path);
  return { isShared: workTrees.length > 0 || roots.some((root) => isInside(root, path)), workTrees };
}

function problemOfTracked(tracked: string): string {
  return tracked === "unknown"
    ? "it lies in a repository whose index cannot be read, so git may have put files there; repair the repository, or name another folder with --state-dir or AUTONOUS_STATE_DIR"
    : `git tracks ${JSON.stringify(tracked)} in it, so it comes from the repository; run git rm -r --cached on it if the state is yours, move it away, or name another folder with --state-dir or AUTONOUS_STATE_DIR`;
}

/** A link in the workspace would send the state to where the workspace says. */
function problemOfSpelling(check: StateCheck): string | undefined {
  const spelled = spelledPath(check);
  const real = resolvePath(dirname(spelled), "/").real;
  const isLed = check.roots.some((root) => isInside(root, spelled)) && real !== dirname(spelled);
  return isLed ? `"${spelled}" leads there by a link in the workspace; name the folder itself` : undefined;
}

/** Roots that tools may touch, and those among them that are the state folder itself, which stays closed as a whole. */
export interface SplitRoots {
  readonly open: readonly string[];
  readonly own: readonly string[];
}

/**
 * Parts the real paths of roots: the state folder may be named as a root, and nothing in it is opened by that. It has to
 * be told apart before roots are mounted, watched or searched, all of which expect that a root is open.
 */
export function splitRootsOf(state_dir: string, roots: readonly string[]): SplitRoots {
  return { open: roots.filter((root) => root !== state_dir), own: roots.filter((root) => root === state_dir) };
}

/** Roots that are the state folder under another name: closed places are known by their paths, and mounts have two. */
export function aliasProblems(state_dir: string, roots: readonly string[]): string[] {
  const state = statSync(state_dir, { throwIfNoEntry: false });
  if (state === undefined) return [];
  return roots.flatMap((root) => {
    const found = statSync(root, { throwIfNoEntry: false });
    if (root === state_dir || found?.ino !== state.ino || found.dev !== state.dev) return [];
    return [`the root "${root}" cannot be used: it is the state folder "${state_dir}" mounted a second time`];
  });
}

/** Whether there is nothing in a state folder yet but what binds it. */
export function isUnusedState(state_dir: string): boolean {
  const examined = examineFolder(state_dir, { thorough: false });
  return "use" in examined && examined.use !== "used";
}

/** Checks the state folder, makes it where it is missing, and binds it to this user and machine. */
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
      problem: `the state folder "${state_dir}" cannot be made (${code}); name one that can with state_dir or AUTONOUS_STATE_DIR`,
    };
  }
}
