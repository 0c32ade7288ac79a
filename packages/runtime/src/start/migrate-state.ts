import { closeSync, existsSync, fstatSync, lstatSync, mkdirSync, readdirSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { headsFolder, readHead, replaceHead, runsWithHeads, userStateFolder } from "../journal/heads.ts";
import { isRunId } from "../journal/run-folder.ts";
import { leaveLocks, tryLockOnce, unlock } from "../machine/system/lock-files.ts";
import { lifeOf } from "../machine/system/process-owner.ts";
import { resolvePath } from "../machine/system/resolve.ts";
import { stateFolders } from "../machine/system/state-folders.ts";
import { workspaceOf } from "../machine/state/bind-folder.ts";
import { examineFolder } from "../machine/state/examine-folder.ts";
import { trackedIn, workTreesAbove } from "../machine/state/git-index.ts";
import { endMoving, hasState, isMoving, moveState, stateNamesIn } from "../machine/state/move-state.ts";
import { ToolError } from "../protocol/errors.ts";
import { checkState, isUnusedState, locateState, openState } from "./state-place.ts";
import type { StateCheck } from "./state-place.ts";
import { openOwnFile, readOwnText } from "../own-files/read-own-file.ts";

/** Where earlier versions stored state: inside the workspace. */
const OLD_NAME = ".agent";

/** A moved state folder, or why it was not moved. */
export interface Migration {
  readonly from: string;
  readonly to: string;
  /** Why the old state was not moved; omitted if it was. */
  readonly left?: string;
}

/** A message for the user. */
export function migrationText({ from, to, left }: Migration): string {
  return left === undefined
    ? `The state of this workspace was moved from "${from}" to "${to}"; config.json and skills stay where they are`
    : `The state in "${from}" is not used: ${left}. If it is yours: autonous state adopt "${from}". Otherwise move it away`;
}

/**
 * Moves state that an earlier version stored in the workspace to its new location. Moves only state that provably
 * belongs to this user: each of its runs has its head in the user's state directory, for this very folder, which files
 * that come with a workspace cannot fake. Everything else is left alone and not read. Undefined if there is nothing to
 * move.
 */
export function migrateState(check: StateCheck): Migration | undefined {
  const seen = findOldState(check);
  if (seen === undefined || (seen.left !== undefined && !isMoving(seen.from, seen.to))) return seen;
  return alone(check, () => {
    const found = findOldState(check); // another process may have moved it first
    if (found !== undefined && found.left === undefined) moveAll(found.from, check);
    return found;
  });
}

/** What `migrateState` would do. Changes nothing. */
export function findOldState(check: StateCheck): Migration | undefined {
  if (check.state_dir !== undefined) return undefined;
  const from = join(resolvePath(check.workspace, "/").real, OLD_NAME);
  if (stateNamesIn(from).length === 0) return undefined;
  const to = locateState(check);
  const left = checkState(check) ?? whyLeft(from, { to, heads: headsFolder(check.environment) });
  return { from, to, ...(left === undefined ? {} : { left }) };
}

const MAX_ORPHANS = 5;

/**
 * The first state folders whose workspaces no longer exist: one may belong to this workspace, from before it was moved.
 */
export function orphanedStates(environment: NodeJS.ProcessEnv = process.env): readonly string[] {
  const user = userStateFolder(environment);
  const orphans = namesIn(user).flatMap((name) => {
    const workspace = /-[0-9a-f]{16}$/.test(name) ? workspaceOf(join(user, name)) : undefined;
    return workspace === undefined || existsSync(workspace) || !hasState(join(user, name)) ? [] : [join(user, name)];
  });
  return orphans.slice(0, MAX_ORPHANS);
}

const PAUSE_MS = 10;

/** Only one process moves state; the others wait, so that they do not start with half of it. */
function alone<T>({ environment }: StateCheck, work: () => T): T {
  const folder = join(userStateFolder(environment), "locks");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lock = join(folder, "move");
  while (!tryLockOnce(lock)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
  try {
    return work();
  } finally {
    unlock(lock);
    leaveLocks(folder);
  }
}

/** The same for a folder that the user claims: refuses only what would be unsafe for anyone. */
export function adoptOldState(from: string, check: StateCheck): string | undefined {
  const to = locateState(check);
  const problem = checkState(check) ?? whyUnsafe(from) ?? whyInUse(from) ?? whyTaken(to);
  if (problem === undefined) alone(check, () => moveAll(from, check));
  return problem;
}

function moveAll(from: string, check: StateCheck): void {
  const heads = headsFolder(check.environment);
  const to = locateState(check);
  const known = runsWithHeads(heads, from).flatMap((run_id) => readHead(heads, run_id, from) ?? []);
  try {
    moveState(from, to);
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    throw new ToolError(
      "InvalidArguments",
      `Cannot move the state of this workspace from "${from}" to "${to}" (${reason}); the next start resumes it`,
      { from, to },
      error,
    );
  }
  for (const head of known) if (head !== "damaged") replaceHead(heads, { ...head, state_dir: to });
  endMoving(to);
  openState(check);
}

interface Surroundings {
  readonly to: string;
  readonly heads: string;
}

function whyLeft(from: string, { to, heads }: Surroundings): string | undefined {
  if (isMoving(from, to)) return whyUnsafe(from); // it was interrupted after all checks had passed
  return whyUnsafe(from) ?? whyForeign(from, heads) ?? whyInUse(from) ?? whyTaken(to);
}

function whyTaken(to: string): string | undefined {
  return isUnusedState(to) || !hasState(to) ? undefined : `"${to}" already contains state`;
}

function whyUnsafe(from: string): string | undefined {
  if (lstatSync(from, { throwIfNoEntry: false })?.isSymbolicLink() === true) return "it is a link";
  const examined = examineFolder(from, { thorough: true });
  if ("problem" in examined) return examined.problem;
  const trees = workTreesAbove(from);
  const tracked = stateNamesIn(from).flatMap((name) => trackedIn(join(from, name), trees) ?? []);
  return tracked.length === 0 ? undefined : `git tracks ${JSON.stringify(tracked[0])} in it`;
}

/** Checks every run: a single run added to the user's own state would come from someone else. */
function whyForeign(from: string, heads: string): string | undefined {
  const runs = namesIn(join(from, "runs"));
  const isKnown = (run_id: string): boolean => {
    const head = isRunId(run_id) ? readHead(heads, run_id, from) : undefined;
    return typeof head === "object" && head.state_dir === from && hasEnd(join(from, "runs", run_id), head.hash);
  };
  return runs.length > 0 && runs.every(isKnown) ? undefined : "nothing shows that this user made it on this machine";
}

/** The head may lag the record by some events, so it is searched near the end. */
const END_BYTES = 1 << 20;

function hasEnd(run: string, last: string): boolean {
  try {
    const fd = openOwnFile(join(run, "events.jsonl"));
    try {
      const { size } = fstatSync(fd);
      const end = Buffer.alloc(Math.min(size, END_BYTES));
      readSync(fd, end, 0, end.length, size - end.length);
      return end.includes(last);
    } finally {
      closeSync(fd);
    }
  } catch {
    return false; // a run without its record proves nothing
  }
}

function whyInUse(from: string): string | undefined {
  const writing = namesIn(stateFolders(from).open).some(
    (name) => lifeOf(name.split("@")[1]?.replace(/\.jsonl$/, "") ?? "") === "alive",
  );
  return writing || isServed(from) ? "a process is working with it; stop that first" : undefined;
}

function isServed(from: string): boolean {
  try {
    const pid = Number(readOwnText(join(from, "serve.pid")));
    return readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0").includes("serve");
  } catch {
    return false; // no service was started there, or it has stopped
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
