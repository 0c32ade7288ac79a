import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { Tail } from "./hash-chain.ts";
import { isRunId, syncFolder } from "./run-folder.ts";

/** What is known, outside the state folder, of how far a run's record goes. */
export interface Head extends Tail {
  readonly run_id: string;
  readonly state_dir: string;
}

const SEQ_DIGITS = 12;

/** Our part of the user's state directory: the state of each workspace, the heads of all chains, what the user trusts. */
export function userStateFolder(environment: NodeJS.ProcessEnv = process.env): string {
  const base = environment["XDG_STATE_HOME"];
  return join(base !== undefined && isAbsolute(base) ? base : join(homedir(), ".local", "state"), "autonous");
}

/** Where the heads of all chains are kept, outside every state folder (spec 1: "also kept outside the state folder"). */
export function headsFolder(environment: NodeJS.ProcessEnv = process.env): string {
  return join(userStateFolder(environment), "heads");
}

/**
 * The head of one chain: one file, one line of fixed length, written over in one system call after each append.
 * It may lag the record by the last append, never lead it: so a record that ends before its head was cut.
 */
export class HeadFile {
  readonly #folder: string;
  readonly #fd: number;
  readonly #suffix: string;

  constructor(folder: string, run_id: string, state_dir: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#fd = openSync(join(folder, run_id), constants.O_WRONLY | constants.O_CREAT, 0o600);
    this.#suffix = ` ${JSON.stringify(state_dir)}\n`;
    const bytes = SEQ_DIGITS + 1 + 64 + Buffer.byteLength(this.#suffix);
    if (fstatSync(this.#fd).size > bytes) ftruncateSync(this.#fd, bytes); // it was kept for a folder of a longer name
  }

  write({ seq, hash }: Tail): void {
    const line = `${String(seq).padStart(SEQ_DIGITS, "0")} ${hash}${this.#suffix}`;
    const bytes = Buffer.from(line);
    if (writeSync(this.#fd, bytes, 0, bytes.length, 0) !== bytes.length) {
      throw new Error("The head of the record was written only in part: the disk is full");
    }
  }

  /** On the disk, with its name. */
  sync(): void {
    fdatasyncSync(this.#fd);
    syncFolder(this.#folder);
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** For a run that is no longer kept, when its record elsewhere says so. */
export function removeHead(folder: string, run_id: string): void {
  if (isRunId(run_id)) rmSync(join(folder, run_id), { force: true });
}

/** Puts a head where it was or was not, whatever it said: for one who puts back a record knowingly. */
export function replaceHead(folder: string, { run_id, seq, hash, state_dir }: Head): void {
  removeHead(folder, run_id);
  const file = new HeadFile(folder, run_id, state_dir);
  try {
    file.write({ seq, hash });
    file.sync();
  } finally {
    file.close();
  }
}

/** The head of one run, or undefined where none was kept. A head that cannot be read as one is itself a sign of tampering. */
export function readHead(folder: string, run_id: string): Head | "damaged" | undefined {
  if (!isRunId(run_id)) return undefined;
  let text: string;
  try {
    text = readFileSync(join(folder, run_id), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  if (text === "") return undefined; // made, but nothing was recorded before the process ended
  const match = /^(\d{12}) ([0-9a-f]{64}) (".*")\n$/.exec(text);
  if (match === null) return "damaged";
  const [, seq = "", hash = "", state_dir = '""'] = match;
  return { run_id, seq: Number(seq), hash, state_dir: JSON.parse(state_dir) as string };
}

/** The runs that were recorded in this state folder, as far as their heads are known. */
export function runsWithHeads(folder: string, state_dir: string): string[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
  return names.filter((run_id) => {
    const head = readHead(folder, run_id);
    return head !== undefined && head !== "damaged" && head.state_dir === state_dir;
  });
}
