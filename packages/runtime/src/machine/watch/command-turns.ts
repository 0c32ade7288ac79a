import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { OpenedPlaces } from "../../contract/processes.ts";
import { tryLockOnce, unlock } from "../system/lock-files.ts";
import { pause } from "../../protocol/pause.ts";
import { lifeOf, ownProcess } from "../system/process-owner.ts";
import { isSystemError } from "../system/system-error.ts";
import { makeStateFolders, stateFolders } from "../system/state-folders.ts";
import { readOwnText } from "../../own-files/read-own-file.ts";

/** When a command of another session ran, in milliseconds. `to` is Infinity while it still runs. */
export interface Interval {
  readonly from: number;
  readonly to: number;
  /** Real paths at and below which a user allowed it to change run-later files. */
  readonly agreed: readonly string[];
}

/** What the next start has to know about a command if its process is killed. */
export interface CommandNote {
  readonly run_id: string;
  readonly tool_call_id: string;
  /** Paths are shown relative to it. */
  readonly cwd: string;
  readonly roots: readonly string[];
  readonly sandbox: string;
  readonly confirmed: boolean;
  readonly opens?: OpenedPlaces;
  /** The file of `SnapshotStore`; left out where nothing could be stored. */
  readonly look?: string;
}

export interface CommandTurn {
  /** Unique ID of the command. */
  readonly id: string;
  readonly from: number;
  /** Commands of other sessions that ran, or run, at the same time. */
  others(): readonly Interval[];
  /** Whether no other command runs in the workspace, in any session. */
  isAlone(): boolean;
  /** Stored until `end`. */
  note(command: CommandNote): void;
  end(): void;
}

interface TurnOptions {
  readonly session: string;
  /** It runs on after its call, so no other command waits for its end. */
  readonly background: boolean;
  readonly signal: AbortSignal;
  readonly agreed: readonly string[];
}

/** If a command names more, another session may set aside its run-later files. */
const MAX_AGREED = 200;

/** How long a command waits for the previous one. Most end sooner; then every change has a certain author. */
const WAIT_MS = 10_000;
const PAUSE_MS = 20;
/** Heartbeat interval of a process while its command runs. Later changes have no certain author. */
const HEARTBEAT_MS = 100;
/** A process that is not visible and sent no heartbeat for this time is gone. */
const UNSEEN_MS = 60_000;

/**
 * Commands that may change files take turns in a workspace, across all processes and chats: so every change meanwhile is
 * their own. No command waits long for another: if two overlap, each knows when the other one ran.
 *
 * Each has a file `<id>@<owner>` while it runs, with its session. Of two that overlap, each finds `<own>.beside.<other>`,
 * made by the one that began later; the first to end writes its end time there.
 */
export async function takeTurn(state_dir: string, options: TurnOptions): Promise<CommandTurn> {
  try {
    return await beginTurn(state_dir, options);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    // Run the command even if the state folder is not writable; its changes cannot be undone then.
    return { id: "none", from: Date.now(), others: () => [], isAlone: () => false, note() {}, end() {} };
  }
}

async function beginTurn(state_dir: string, options: TurnOptions): Promise<CommandTurn> {
  const folder = join(state_dir, "running");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lock = options.background ? undefined : await waitForTurn(state_dir, options.signal);
  const id = randomBytes(8).toString("hex");
  const own = `${id}@${ownProcess()}`;
  const from = Date.now();
  const agreed = options.agreed.slice(0, MAX_AGREED);
  const { session } = options;
  const write = (path: string, command?: CommandNote): void =>
    writeFileSync(path, JSON.stringify({ session, from, agreed, command }), { mode: 0o600 });
  write(join(folder, own));
  const alive = setInterval(() => sendHeartbeat(join(folder, own)), HEARTBEAT_MS).unref();
  for (const other of runningIn(folder)) {
    if (other.name === own || other.session === options.session) continue;
    note(folder, { of: other.name, other: own }, { from, to: null, agreed });
    note(folder, { of: own, other: other.name }, { from: other.from, to: null, agreed: other.agreed });
  }
  return {
    id,
    from,
    note(command) {
      try {
        write(join(folder, noteOf(own)), command);
        renameSync(join(folder, noteOf(own)), join(folder, own));
      } catch (error) {
        if (!isSystemError(error)) throw error; // full disk: the next start will not know the command
      }
    },
    others: () => parallelNotes(folder, own).map(({ interval }) => interval),
    // The files of a killed command are still needed for its recovery.
    isAlone: () => runningIn(folder).every(({ name }) => name === own) && killedIn(folder).length === 0,
    end() {
      clearInterval(alive);
      const to = Date.now();
      for (const { other } of parallelNotes(folder, own)) {
        if (exists(folder, other)) note(folder, { of: other, other: own }, { from, to, agreed });
        rmSync(join(folder, `${own}.beside.${other}`), { force: true });
      }
      rmSync(join(folder, own), { force: true });
      if (lock !== undefined) unlock(lock);
    },
  };
}

/** Path of the acquired lock; undefined where the previous command takes too long. */
async function waitForTurn(state_dir: string, signal: AbortSignal): Promise<string | undefined> {
  makeStateFolders(state_dir);
  const lock = join(stateFolders(state_dir).locks, "command-turn");
  const until = performance.now() + WAIT_MS;
  while (!tryLockOnce(lock)) {
    if (performance.now() > until) return undefined;
    await pause(PAUSE_MS, { signal });
  }
  return lock;
}

function sendHeartbeat(path: string): void {
  const now = Date.now() / 1000;
  try {
    utimesSync(path, now, now);
  } catch (error) {
    if (!isSystemError(error)) throw error; // the state folder or its file system is gone
  }
}

const BESIDE = ".beside.";

/** Temporary file that then replaces the file of the command. Not a valid name of a running command. */
function noteOf(own: string): string {
  return `note${BESIDE}${own}`;
}

/** Names of the files of commands whose process is gone. */
function killedIn(folder: string): readonly string[] {
  return readdirSync(folder).filter((name) => !name.includes(BESIDE) && isGone(folder, name));
}

/** A process of another container is not visible, but sends heartbeats. */
function isGone(folder: string, name: string): boolean {
  const life = lifeOf(name.split("@")[1] ?? "");
  if (life !== "unseen") return life === "gone";
  const stats = statSync(join(folder, name), { throwIfNoEntry: false });
  return stats !== undefined && Date.now() - stats.mtimeMs > UNSEEN_MS;
}

/** A command whose process was killed. */
export interface KilledCommand {
  readonly id: string;
  readonly from: number;
  /** Time of its last heartbeat: it ran at least until then, and not much longer. */
  readonly until: number;
  readonly others: readonly Interval[];
  /** Missing where it had not begun, or was a background process. */
  readonly command?: CommandNote;
  /** Call this when its changes are recorded. */
  forget(): void;
}

/** Commands whose processes are gone. Without any, this costs one directory listing. */
export function findKilled(state_dir: string): readonly KilledCommand[] {
  const folder = join(state_dir, "running");
  return namesIn(folder).flatMap((name): readonly KilledCommand[] => {
    const forget = (): void => {
      for (const { other } of parallelNotes(folder, name))
        rmSync(join(folder, `${name}${BESIDE}${other}`), { force: true });
      rmSync(join(folder, noteOf(name)), { force: true });
      rmSync(join(folder, name), { force: true });
    };
    const stats = statSync(join(folder, name), { throwIfNoEntry: false });
    const parsed = readJson(join(folder, name)) as { from?: number; command?: CommandNote } | undefined;
    if (stats === undefined) return [];
    const times = { from: parsed?.from ?? 0, until: stats.mtimeMs + HEARTBEAT_MS };
    const others = parallelNotes(folder, name).map(({ interval }) => interval);
    return [
      { id: name.split("@")[0] ?? "", ...times, others, ...(parsed?.command && { command: parsed.command }), forget },
    ];
  });

  function namesIn(path: string): readonly string[] {
    try {
      return killedIn(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  }
}

interface RunningCommand {
  readonly name: string;
  readonly session: string;
  readonly from: number;
  readonly agreed: readonly string[];
}

/** Files of dead processes are kept for the next start. */
function runningIn(folder: string): readonly RunningCommand[] {
  return readdirSync(folder).flatMap((name) => {
    if (name.includes(BESIDE) || isGone(folder, name)) return [];
    const parsed = readJson(join(folder, name)) as Partial<RunningCommand> | undefined;
    return parsed === undefined ? [] : [{ session: "", from: 0, agreed: [], ...parsed, name }];
  });
}

interface NotedInterval extends Omit<Interval, "to"> {
  readonly to: number | null;
}

interface Pair {
  readonly of: string;
  readonly other: string;
}

function note(folder: string, { of, other }: Pair, interval: NotedInterval): void {
  writeFileSync(join(folder, `${of}.beside.${other}`), JSON.stringify(interval), { mode: 0o600 });
}

function parallelNotes(
  folder: string,
  own: string,
): readonly { readonly other: string; readonly interval: Interval }[] {
  const prefix = `${own}.beside.`;
  return readdirSync(folder)
    .filter((name) => name.startsWith(prefix))
    .map((name) => {
      const noted = (readJson(join(folder, name)) ?? {}) as Partial<NotedInterval>;
      const { from = 0, to = null, agreed = [] } = noted;
      return { other: name.slice(prefix.length), interval: { from, to: to ?? Infinity, agreed } };
    });
}

function exists(folder: string, name: string): boolean {
  return readJson(join(folder, name)) !== undefined;
}

/** Undefined where it is gone or incomplete. */
function readJson(path: string): unknown {
  try {
    return JSON.parse(readOwnText(path)) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
