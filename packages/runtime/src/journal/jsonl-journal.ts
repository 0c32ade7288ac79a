import { closeSync, constants, fdatasync, fdatasyncSync, fstatSync, ftruncateSync, statSync, writeSync } from "node:fs";
import type { Stats } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../contract/host.ts";
import type { AppendOptions, CallState, Journal } from "../contract/journal.ts";
import type { EventDraft, RuntimeEvent } from "../protocol/event-record.ts";
import { ToolError } from "../protocol/errors.ts";
import { parseEvent } from "../protocol/event-record.ts";
import { makeId, makeTraceId } from "../protocol/ids.ts";
import { chainEvents, lineOf, sealOf } from "./hash-chain.ts";
import type { Tail } from "./hash-chain.ts";
import { HeadFile, readHead } from "./heads.ts";
import type { Head } from "./heads.ts";
import { readLines } from "./read-lines.ts";
import { checkContinues, findEnd } from "./file-end.ts";
import { openRecordKey } from "./record-key.ts";
import type { RecordKey } from "./record-key.ts";
import { makeRunFolder, runPath, syncFolder } from "./run-folder.ts";
import { openOwnFile } from "../own-files/read-own-file.ts";

export interface JsonlOptions {
  readonly state_dir: string;
  readonly run_id: string;
  readonly heads: string;
  /** The path of `events.jsonl`. Default: in the folder of the run. */
  readonly folder?: string;
  /**
   * Set: the file follows another, authoritative journal, through `follow`. `sealed` accepts events beyond the head
   * only with this user's MAC; `any` accepts all events, for copies.
   */
  readonly follows?: "sealed" | "any";
}

/** Journal on a file: authoritative in the library. One process writes a run at a time; a second one is detected. */
export class JsonlJournal implements Journal {
  readonly run_id: string;
  readonly path: string;
  /** Bytes of a torn last line that were removed when the file was opened. */
  readonly repaired_bytes: number;
  readonly #folder: string;
  readonly #fd: number;
  readonly #head: HeadFile;
  /** The head when the file was opened, for a journal that follows another. */
  readonly #reach: Head | undefined;
  readonly #key: RecordKey;
  readonly #follows: JsonlOptions["follows"];
  readonly #inode: string;
  #tail: Tail;
  #size: number;
  #calls: Promise<CallStates> | undefined;
  #folderSynced = false;
  #syncing: Promise<void> | undefined;
  #syncingNext: Promise<void> | undefined;
  #closed = false;

  constructor({ state_dir, run_id, heads, folder, follows }: JsonlOptions) {
    this.run_id = run_id;
    this.#folder = folder ?? runPath(state_dir, run_id);
    makeRunFolder(this.#folder);
    this.path = join(this.#folder, "events.jsonl");
    this.#fd = openOwnFile(this.path, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND, 0o600);
    this.#key = openRecordKey();
    this.#follows = follows;
    try {
      const end = findEnd(this.#fd, this.path);
      const head = readHead(heads, run_id, state_dir);
      if (follows === undefined) checkContinues({ path: this.path, tail: end.tail, head, key: this.#key });
      this.#reach = typeof head === "object" ? head : undefined;
      this.#tail = end.tail;
      this.#size = end.size;
      this.repaired_bytes = end.torn;
      if (end.torn > 0) ftruncateSync(this.#fd, end.size);
      this.#inode = identityOf(fstatSync(this.#fd));
      this.#head = new HeadFile(heads, run_id, state_dir);
    } catch (error) {
      closeSync(this.#fd);
      throw error;
    }
  }

  /** One write, without the thread pool; waits for the disk only if requested. */
  async append(drafts: readonly EventDraft[], options: AppendOptions = {}): Promise<readonly RuntimeEvent[]> {
    const chained = chainEvents(drafts, this.#tail, this.#key);
    const events = chained.map(({ event }) => event);
    this.#add(
      chained.map(({ line }) => line),
      events.at(-1),
    );
    this.#calls?.then(
      (calls) => events.forEach((event) => calls.add(event)),
      () => undefined, // callers that await it get the error
    );
    if (options.durable !== true) return events;
    // No other caller waits for the disk, so no sync can be shared; skipping the thread pool halves the time.
    if (this.#syncing === undefined) this.#syncAtOnce();
    else await this.sync();
    return events;
  }

  /** The head is written shortly after the event. Call this before removing files because of a recorded event. */
  syncHead(): void {
    this.#head.sync();
  }

  /** Callers that arrive during a sync share the next one: it covers everything they have written. */
  sync(): Promise<void> {
    if (this.#syncing === undefined) {
      this.#syncing = this.#syncNow().finally(() => (this.#syncing = undefined));
      return this.#syncing;
    }
    this.#syncingNext ??= this.#syncing
      .catch(() => undefined) // the callers that waited for that sync get the error
      .then(() => {
        this.#syncingNext = undefined;
        return this.sync();
      });
    return this.#syncingNext;
  }

  /** Follows another, authoritative journal: appends the events that are missing here. */
  follow(events: readonly RuntimeEvent[]): void {
    const missing = events.filter(({ seq }) => seq > this.#tail.seq);
    const [first] = missing;
    if (first === undefined) return;
    if (first.prev_hash !== this.#tail.hash) {
      throw new Error(`"${this.path}" does not continue with event ${first.seq} of its run: it was changed`);
    }
    for (const event of missing) this.#checkFollowed(event);
    this.#add(missing.map(lineOf), missing.at(-1));
  }

  /** The following events must lead through the stored head, and events beyond it must be written by this user. */
  #checkFollowed(event: RuntimeEvent): void {
    const { seq, hash } = this.#reach ?? { seq: 0, hash: "" };
    if (event.seq === seq && event.hash !== hash)
      throw new Error(`Event ${seq} of run "${this.run_id}" does not match the stored head: it was rewritten`);
    if (event.seq <= seq || this.#follows !== "sealed" || sealOf(event, this.#key) === "ours") return;
    throw new Error(`Event ${event.seq} of run "${this.run_id}" is past its head and was not written by this user`);
  }

  /** Nothing is recorded if the head cannot be written. */
  #add(lines: readonly string[], last: RuntimeEvent | undefined): void {
    if (last === undefined) return;
    const size = this.#size;
    this.#write(Buffer.from(`${lines.join("\n")}\n`));
    try {
      // A journal that follows from the start again, because its file was lost, is behind the head for a while.
      if (last.seq >= (this.#reach?.seq ?? 0)) this.#head.write(last);
    } catch (error) {
      ftruncateSync(this.#fd, size);
      this.#size = size;
      throw error;
    }
    this.#tail = { seq: last.seq, hash: last.hash };
  }

  /** Read from the file on first use: most callers let the runtime choose their ids. */
  async callState(tool_call_id: string): Promise<CallState | undefined> {
    this.#calls ??= this.#readCalls();
    return (await this.#calls).get(tool_call_id);
  }

  async #readCalls(): Promise<CallStates> {
    const calls = new CallStates();
    for await (const event of this.read()) calls.add(event);
    return calls;
  }

  async *read(after = 0): AsyncIterable<RuntimeEvent> {
    let number = 0;
    for await (const lines of readLines(this.path)) {
      for (const { text, whole } of lines) {
        if (!whole) return; // an incomplete line is still being written
        const event = parseEvent(text);
        number++;
        if (event === undefined) throw damagedLine(this.path, number);
        if (event.seq > after) yield event;
      }
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    // The number of a closed descriptor may soon belong to another file.
    await Promise.allSettled([this.#syncing, this.#syncingNext]);
    closeSync(this.#fd);
    this.#head.close();
  }

  /** All or nothing: a partial line written to a full disk is removed again. */
  #write(bytes: Buffer): void {
    // The number of a closed descriptor may now belong to another file.
    if (this.#closed) throw new Error("the runtime was closed");
    const { size, nlink } = fstatSync(this.#fd);
    if (nlink === 0) throw lost(this.path);
    if (size !== this.#size) {
      throw new Error(`"${this.path}" is ${size} bytes long, expected ${this.#size}: another process changed it`);
    }
    try {
      const written = writeSync(this.#fd, bytes);
      if (written !== bytes.length) throw new Error(`only ${written} of ${bytes.length} bytes could be written`);
      // Looked up by name: after a move of the file or its folder, writes would go where no reader looks.
      const named = statSync(this.path, { throwIfNoEntry: false });
      if (named === undefined || identityOf(named) !== this.#inode) throw lost(this.path);
    } catch (error) {
      ftruncateSync(this.#fd, this.#size);
      throw error;
    }
    this.#size += bytes.length;
  }

  #syncAtOnce(): void {
    fdatasyncSync(this.#fd);
    this.#syncName();
  }

  async #syncNow(): Promise<void> {
    await fdatasyncOf(this.#fd);
    this.#syncName();
  }

  #syncName(): void {
    if (this.#folderSynced) return;
    syncFolder(this.#folder);
    this.#folderSynced = true;
  }
}

function identityOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}

function lost(path: string): Error {
  return new Error(`"${path}" was deleted, moved or replaced while it was open`);
}

function damagedLine(path: string, number: number): ToolError {
  const hint =
    'Run "autonous audit verify" to see all damage; other runs are not affected, and a new run can be started.';
  const why = `Cannot read the record "${path}": line ${number} is not a valid event`;
  return new ToolError("RecordFailed", why, { path, line: number, hint });
}

function fdatasyncOf(fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fdatasync(fd, (error) => (error === null ? resolve() : reject(error)));
  });
}

/** Opens a run's file. A torn last line, as left by a power loss, is removed, and the record says so. */
export async function openJsonl(options: JsonlOptions, clock: Clock): Promise<JsonlJournal> {
  const journal = new JsonlJournal(options);
  if (journal.repaired_bytes === 0) return journal;
  const now = clock();
  const content = `The last line of the audit log was incomplete (${journal.repaired_bytes} bytes) and was removed. No record is lost`;
  const about = { trace_id: makeTraceId(), task_id: null, run_id: options.run_id, parent_id: null };
  const ts = new Date(now).toISOString();
  await journal.append([
    { event_id: makeId("evt", now), ts, type: "display", ...about, payload: { level: "warning", content } },
  ]);
  return journal;
}

const ABOUT = new Set(["tool_call.started", "tool_call.completed", "tool_call.failed"]);

/** The state of each call of a run, by its id. */
class CallStates {
  readonly #states = new Map<string, CallState>();

  add({ type, payload }: Pick<RuntimeEvent, "type" | "payload">): void {
    const id = payload["tool_call_id"];
    if (!ABOUT.has(type) || typeof id !== "string") return;
    this.#states.set(id, type === "tool_call.started" ? "open" : "ended");
  }

  get(tool_call_id: string): CallState | undefined {
    return this.#states.get(tool_call_id);
  }
}
