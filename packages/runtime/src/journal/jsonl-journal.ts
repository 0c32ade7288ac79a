import {
  closeSync,
  constants,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import type { Clock } from "../contract/host.ts";
import type { AppendOptions, Journal } from "../contract/journal.ts";
import type { EventDraft, RuntimeEvent } from "../protocol/event-record.ts";
import { makeId, makeTraceId } from "../protocol/ids.ts";
import { chainEvents, EMPTY_TAIL, lineOf } from "./hash-chain.ts";
import type { Tail } from "./hash-chain.ts";
import { HeadFile } from "./heads.ts";
import { readLines } from "./lines.ts";
import { makeRunFolder, runPath, syncFolder } from "./run-folder.ts";

export interface JsonlOptions {
  readonly state_dir: string;
  readonly run_id: string;
  readonly heads: string;
  /** Where `events.jsonl` lies. Default: the folder of the run. */
  readonly folder?: string;
}

/** Journal on a file: in the library this is the truth. One process writes a run at a time; a second one is noticed. */
export class JsonlJournal implements Journal {
  readonly run_id: string;
  readonly path: string;
  /** Bytes of a torn last line that were taken off when the file was opened. */
  readonly repaired_bytes: number;
  readonly #folder: string;
  readonly #fd: number;
  readonly #head: HeadFile;
  #tail: Tail;
  #size: number;
  #folderSynced = false;
  #syncing: Promise<void> | undefined;
  #syncingNext: Promise<void> | undefined;
  #closed = false;

  constructor({ state_dir, run_id, heads, folder }: JsonlOptions) {
    this.run_id = run_id;
    this.#folder = folder ?? runPath(state_dir, run_id);
    makeRunFolder(this.#folder);
    this.path = join(this.#folder, "events.jsonl");
    this.#fd = openSync(this.path, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND, 0o600);
    const end = findEnd(this.#fd, this.path);
    this.#tail = end.tail;
    this.#size = end.size;
    this.repaired_bytes = end.torn;
    if (end.torn > 0) ftruncateSync(this.#fd, end.size);
    this.#head = new HeadFile(heads, run_id, state_dir);
  }

  /** One write, without a trip through the thread pool; the disk is waited for only where that is asked. */
  async append(drafts: readonly EventDraft[], options: AppendOptions = {}): Promise<readonly RuntimeEvent[]> {
    const chained = chainEvents(drafts, this.#tail);
    const events = chained.map(({ event }) => event);
    this.#add(
      chained.map(({ line }) => line),
      events.at(-1),
    );
    if (options.durable !== true) return events;
    // With nobody else waiting for the disk there is nothing to share, and a trip through the thread pool is half the time.
    if (this.#syncing === undefined) this.#syncAtOnce();
    else await this.sync();
    return events;
  }

  /** The head lags by a moment for those who record; whoever removes something because of a record waits for it. */
  syncHead(): void {
    this.#head.sync();
  }

  /** Those who come while one is under way share the next one: it covers what all of them have written. */
  sync(): Promise<void> {
    if (this.#syncing === undefined) {
      this.#syncing = this.#syncNow().finally(() => (this.#syncing = undefined));
      return this.#syncing;
    }
    this.#syncingNext ??= this.#syncing
      .catch(() => undefined) // it is told to those who waited for that one
      .then(() => {
        this.#syncingNext = undefined;
        return this.sync();
      });
    return this.#syncingNext;
  }

  /** Follows another journal that is the truth: adds those of its events that are not here yet. */
  follow(events: readonly RuntimeEvent[]): void {
    const missing = events.filter(({ seq }) => seq > this.#tail.seq);
    const [first] = missing;
    if (first === undefined) return;
    if (first.prev_hash !== this.#tail.hash) {
      throw new Error(`"${this.path}" does not lead to event ${first.seq} of its run: it was changed`);
    }
    this.#add(missing.map(lineOf), missing.at(-1));
  }

  #add(lines: readonly string[], last: RuntimeEvent | undefined): void {
    if (last === undefined) return;
    this.#write(Buffer.from(`${lines.join("\n")}\n`));
    this.#tail = { seq: last.seq, hash: last.hash };
    this.#head.write(this.#tail);
  }

  async *read(after = 0): AsyncIterable<RuntimeEvent> {
    for await (const lines of readLines(this.path)) {
      for (const { text, whole } of lines) {
        const event = whole ? (JSON.parse(text) as RuntimeEvent) : undefined; // half a line is one that is being written
        if (event !== undefined && event.seq > after) yield event;
      }
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    // The number of a closed descriptor may soon be that of another file.
    await Promise.allSettled([this.#syncing, this.#syncingNext]);
    closeSync(this.#fd);
    this.#head.close();
  }

  /** All of it or nothing: what a full disk let through of a line is taken off again. */
  #write(bytes: Buffer): void {
    // The number of a closed descriptor may by now be that of another file.
    if (this.#closed) throw new Error("the runtime was closed");
    const size = fstatSync(this.#fd).size;
    if (size !== this.#size) {
      throw new Error(`"${this.path}" is ${size} bytes long and ought to be ${this.#size}: another process changed it`);
    }
    try {
      const written = writeSync(this.#fd, bytes);
      if (written !== bytes.length) throw new Error(`only ${written} of ${bytes.length} bytes could be written`);
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

function fdatasyncOf(fd: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fdatasync(fd, (error) => (error === null ? resolve() : reject(error)));
  });
}

/** Opens a run's file. A torn last line, which a power cut can leave, is taken off, and the record says so. */
export async function openJsonl(options: JsonlOptions, clock: Clock): Promise<JsonlJournal> {
  const journal = new JsonlJournal(options);
  if (journal.repaired_bytes === 0) return journal;
  const now = clock();
  const content = `The last line of the record was torn (${journal.repaired_bytes} bytes) and was taken off. Nothing that was recorded is lost`;
  const about = { trace_id: makeTraceId(), task_id: null, run_id: options.run_id, parent_id: null };
  const ts = new Date(now).toISOString();
  await journal.append([
    { event_id: makeId("evt", now), ts, type: "display", ...about, payload: { level: "warning", content } },
  ]);
  return journal;
}

const BLOCK = 65_536;

/** The last whole event of a file, and how many bytes after it are the beginning of one that was never finished. */
function findEnd(fd: number, path: string): { readonly tail: Tail; readonly size: number; readonly torn: number } {
  const { size } = fstatSync(fd);
  let text = Buffer.alloc(0);
  let from = size;
  while (from > 0) {
    const length = Math.min(BLOCK, from);
    const block = Buffer.alloc(length);
    from -= length;
    readSync(fd, block, 0, length, from);
    text = Buffer.concat([block, text]);
    const lineEnd = text.lastIndexOf(10);
    if (lineEnd < 0) continue;
    const lineStart = text.lastIndexOf(10, lineEnd - 1) + 1;
    if (lineStart === 0 && from > 0) continue;
    const tail = parseTail(text.subarray(lineStart, lineEnd), path);
    const end = from + lineEnd + 1;
    return { tail, size: end, torn: size - end };
  }
  return { tail: EMPTY_TAIL, size: 0, torn: size };
}

function parseTail(line: Buffer, path: string): Tail {
  try {
    const { seq, hash } = JSON.parse(line.toString("utf8")) as RuntimeEvent;
    if (Number.isInteger(seq) && /^[0-9a-f]{64}$/.test(hash)) return { seq, hash };
  } catch {
    // Falls through: not JSON is as bad as JSON that is no event.
  }
  throw new Error(
    `The last whole line of "${path}" is no event: the record was damaged; look at it with "autonous audit verify"`,
  );
}
