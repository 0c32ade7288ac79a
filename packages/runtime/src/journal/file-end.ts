import { fstatSync, readSync } from "node:fs";
import { parseEvent } from "../protocol/event-record.ts";
import type { RuntimeEvent } from "../protocol/event-record.ts";
import { EMPTY_TAIL, hashOfEvent, sealOf } from "./hash-chain.ts";
import type { Tail } from "./hash-chain.ts";
import type { Head } from "./heads.ts";
import { readLinesSync } from "./read-lines.ts";
import type { RecordKey } from "./record-key.ts";

const BLOCK = 65_536;
/** Longer than any event: a longer line was not written here. */
const LONGEST = 64 * 1024 * 1024;

export interface RecordEnd {
  readonly tail: Tail;
  /** Bytes up to the end of the last complete line. */
  readonly size: number;
  /** Bytes after it: the beginning of an unfinished line, which was never acknowledged. */
  readonly torn: number;
}

/** The last complete event of a file. Throws if the last complete line is not an event. */
export function findEnd(fd: number, path: string): RecordEnd {
  const { size } = fstatSync(fd);
  const lineEnd = lastLineEnd(fd, size);
  if (lineEnd < 0) return { tail: EMPTY_TAIL, size: 0, torn: size };
  const start = lastLineEnd(fd, lineEnd) + 1;
  if (lineEnd - start > LONGEST) throw notAnEvent(path);
  const line = Buffer.alloc(lineEnd - start);
  readSync(fd, line, 0, line.length, start);
  return { tail: parseTail(line, path), size: lineEnd + 1, torn: size - lineEnd - 1 };
}

/**
 * Position of the last "\n" before `before`; -1 if there is none. Keeps one block in memory, however long a line is.
 */
function lastLineEnd(fd: number, before: number): number {
  const block = Buffer.alloc(Math.min(BLOCK, before));
  for (let from = before; from > 0;) {
    const length = Math.min(BLOCK, from);
    from -= length;
    readSync(fd, block, 0, length, from);
    const at = block.subarray(0, length).lastIndexOf(10);
    if (at >= 0) return from + at;
  }
  return -1;
}

function parseTail(line: Buffer, path: string): Tail {
  try {
    const { seq, hash } = JSON.parse(line.toString("utf8")) as RuntimeEvent;
    if (Number.isInteger(seq) && /^[0-9a-f]{64}$/.test(hash)) return { seq, hash };
  } catch {
    // Falls through: invalid JSON is as bad as JSON that is not an event.
  }
  throw notAnEvent(path);
}

function notAnEvent(path: string): Error {
  return new Error(
    `The last complete line of "${path}" is not a valid event: the record was damaged; run "autonous audit verify"`,
  );
}

interface HeadCheck {
  readonly path: string;
  readonly tail: Tail;
  readonly head: Head | "damaged" | undefined;
  readonly key: RecordKey;
}

/**
 * Whether a record may be continued: it must reach its head, and events beyond the head must carry this user's MAC.
 * Otherwise the next append would move the head and hide that the record was cut or extended.
 */
export function checkContinues({ path, tail, head, key }: HeadCheck): void {
  if (head === "damaged") throw refusal(path, "its head, stored outside the state folder, is damaged");
  if (head !== undefined && tail.seq < head.seq)
    throw refusal(path, `it ends at record ${tail.seq}, but its head says ${head.seq}: it was cut or replaced`);
  if (head !== undefined && tail.seq === head.seq) {
    if (tail.hash === head.hash) return;
    throw refusal(path, "it does not match its stored head: it was rewritten");
  }
  if (tail.seq === 0) return;
  let last: Tail = head ?? EMPTY_TAIL;
  for (const event of eventsOf(path)) {
    if (event.seq <= (head?.seq ?? 0)) continue;
    const follows = event.seq === last.seq + 1 && event.prev_hash === last.hash && hashOfEvent(event) === event.hash;
    if (!follows || sealOf(event, key) !== "ours")
      throw refusal(path, `record ${event.seq} is past ${headText(head)} and was not written by this user here`);
    last = { seq: event.seq, hash: event.hash };
  }
}

function headText(head: Head | undefined): string {
  return head === undefined ? "its head, which is missing," : `its head (${head.seq})`;
}

function* eventsOf(path: string): Iterable<RuntimeEvent> {
  for (const { text, whole } of readLinesSync(path)) {
    if (!whole) continue; // incomplete: removed when the file is opened for writing
    const event = parseEvent(text);
    if (event === undefined) throw refusal(path, "a line of it is not a valid event");
    yield event;
  }
}

function refusal(path: string, why: string): Error {
  return new Error(`Cannot continue the record "${path}": ${why}; run "autonous audit verify", or start a new run`);
}
