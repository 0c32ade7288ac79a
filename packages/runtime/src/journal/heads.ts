import { hash } from "node:crypto";
import {
  closeSync,
  constants,
  existsSync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { isAbsolute, join } from "node:path";
import type { Tail } from "./hash-chain.ts";
import { isRunId, syncFolder } from "./run-folder.ts";
import { homeFolder } from "../own-files/home-folder.ts";
import { openOwnFile, readOwnText } from "../own-files/read-own-file.ts";

/** The end of a run's record, as known outside the state folder. */
export interface Head extends Tail {
  readonly run_id: string;
  readonly state_dir: string;
}

const SEQ_DIGITS = 12;

/**
 * Our part of the user's state directory: the state of each workspace, the heads of all chains, the user's trust
 * decisions.
 */
export function userStateFolder(environment: NodeJS.ProcessEnv = process.env): string {
  const base = environment["XDG_STATE_HOME"];
  return join(base !== undefined && isAbsolute(base) ? base : join(homeFolder(), ".local", "state"), "autonous");
}

/** The folder of the heads of all chains, outside every state folder (spec 1: "also kept outside the state folder"). */
export function headsFolder(environment: NodeJS.ProcessEnv = process.env): string {
  return join(userStateFolder(environment), "heads");
}

/**
 * The head of one chain: one file, one line of fixed length, overwritten in one system call after each append. It may
 * lag behind the record, but never lead: a record that ends before its head was cut, and events beyond the head must
 * carry the MAC of this user.
 */
export class HeadFile {
  readonly #folder: string;
  readonly #fd: number;
  readonly #suffix: string;

  constructor(folder: string, run_id: string, state_dir: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#fd = openOwnFile(
      join(folder, nameOf(folder, run_id, state_dir)),
      constants.O_WRONLY | constants.O_CREAT,
      0o600,
    );
    this.#suffix = ` ${JSON.stringify(state_dir)}\n`;
    const bytes = SEQ_DIGITS + 1 + 64 + Buffer.byteLength(this.#suffix);
    if (fstatSync(this.#fd).size > bytes) ftruncateSync(this.#fd, bytes); // it was stored for a folder with a longer name
  }

  write({ seq, hash: last }: Tail): void {
    const line = `${String(seq).padStart(SEQ_DIGITS, "0")} ${last}${this.#suffix}`;
    const bytes = Buffer.from(line);
    if (writeSync(this.#fd, bytes, 0, bytes.length, 0) !== bytes.length) {
      throw new Error("The head of the record was only partly written: no space left");
    }
    if (fstatSync(this.#fd).nlink === 0) throw new Error(`The head of the record was deleted from "${this.#folder}"`);
  }

  /** Fsyncs the head and its name. */
  sync(): void {
    fdatasyncSync(this.#fd);
    syncFolder(this.#folder);
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/**
 * The file name of a run's head. Callers choose run ids, so two state folders may have runs with the same id: the
 * second head's name includes its folder. The head of a run whose folder was moved stays its head.
 */
function nameOf(folder: string, run_id: string, state_dir: string): string {
  const own = `${run_id}@${hash("sha256", state_dir, "hex").slice(0, 16)}`;
  if (existsSync(join(folder, own))) return own;
  const head = readFileAt(folder, run_id);
  if (typeof head !== "object" || head.state_dir === state_dir) return run_id;
  return hasRecord(head.state_dir, run_id) || !hasRecord(state_dir, run_id) ? own : run_id;
}

function hasRecord(state_dir: string, run_id: string): boolean {
  // The record of prunings has a head like a run's.
  const folder = run_id.startsWith("prune_") ? "pruned" : join("runs", run_id);
  return (statSync(join(state_dir, folder, "events.jsonl"), { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/** For a run that is no longer kept, if its pruning is on record. */
export function removeHead(folder: string, run_id: string, state_dir: string): void {
  if (isRunId(run_id)) rmSync(join(folder, nameOf(folder, run_id, state_dir)), { force: true });
}

/** Sets a head unconditionally: for restoring or moving a record. */
export function replaceHead(folder: string, { run_id, seq, hash: last, state_dir }: Head): void {
  removeHead(folder, run_id, state_dir);
  const file = new HeadFile(folder, run_id, state_dir);
  try {
    file.write({ seq, hash: last });
    file.sync();
  } finally {
    file.close();
  }
}

/**
 * The head of one run, or undefined if none was stored. A head that cannot be parsed is itself a sign of tampering.
 * Without `state_dir`: that of the first recorded run with that id, wherever it was.
 */
export function readHead(folder: string, run_id: string, state_dir?: string): Head | "damaged" | undefined {
  if (!isRunId(run_id)) return undefined;
  return readFileAt(folder, state_dir === undefined ? run_id : nameOf(folder, run_id, state_dir));
}

function readFileAt(folder: string, name: string): Head | "damaged" | undefined {
  let text: string;
  try {
    text = readOwnText(join(folder, name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  if (text === "") return undefined; // created, but nothing was recorded before the process ended
  const match = /^(\d{12}) ([0-9a-f]{64}) (".*")\n$/.exec(text);
  if (match === null) return "damaged";
  const [, seq = "", last = "", folderText = '""'] = match;
  const state_dir = parseText(folderText);
  return state_dir === undefined ? "damaged" : { run_id: runOf(name), seq: Number(seq), hash: last, state_dir };
}

function parseText(json: string): string | undefined {
  try {
    return JSON.parse(json) as string; // the name is quoted
  } catch {
    return undefined;
  }
}

function runOf(name: string): string {
  return name.split("@", 1)[0] ?? name;
}

/** Whether there is a file for the head of this run, written or not. */
export function hasHeadFile(folder: string, run_id: string, state_dir: string): boolean {
  return isRunId(run_id) && existsSync(join(folder, nameOf(folder, run_id, state_dir)));
}

/** The runs recorded in this state folder, according to their heads. */
export function runsWithHeads(folder: string, state_dir: string): string[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  const own = names.filter((name) => {
    const head = isRunId(runOf(name)) ? readFileAt(folder, name) : undefined;
    return typeof head === "object" && head.state_dir === state_dir;
  });
  return [...new Set(own.map(runOf))];
}
