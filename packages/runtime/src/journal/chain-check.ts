import type { RuntimeEvent } from "../protocol/event-record.ts";
import { parseStrictJson } from "../protocol/json-places.ts";
import { EMPTY_TAIL, hashOfEvent, isSealedLine, sealOf } from "./hash-chain.ts";
import type { Seal, Tail } from "./hash-chain.ts";
import type { Head } from "./heads.ts";
import type { Line } from "./read-lines.ts";
import type { RecordKey } from "./record-key.ts";

/**
 * damaged: the record differs from what was written. unproven: no error was found, but the evidence (head or key) is
 * not on this machine.
 */
export type ProblemKind = "damaged" | "unproven";

/** One problem in a record, with its position. */
export interface AuditProblem {
  /** The first invalid event; 0 for the entire run. */
  readonly seq: number;
  readonly problem: string;
  readonly run_id?: string;
  /** Omitted: damaged. */
  readonly kind?: ProblemKind;
}

/** begun: the file of the head was created, and its process ended before writing it. */
export type StoredHead = Head | "damaged" | "begun" | undefined;

export interface ChainOptions {
  /** The expected run of the record; undefined: the run that its first event names. */
  readonly run_id: string | undefined;
  readonly findHead: (run_id: string) => StoredHead;
  /** The head lags behind the record, so a record of this user without one is valid. */
  readonly headFollows?: boolean;
  readonly key: RecordKey | undefined;
  /** The name of an unreadable line: `line 7`, `row 7`. Default: line. */
  readonly unit?: string;
  /** Called with every readable event. */
  readonly onEvent?: (event: RuntimeEvent) => void;
}

/** Only the first problems of a record are reported. */
const MAX_PROBLEMS = 20;

/** Checks one chain line by line. A bad link is reported once; the next one is checked against its own line. */
export class ChainCheck {
  readonly #options: ChainOptions;
  readonly #problems: AuditProblem[] = [];
  readonly #notes: AuditProblem[] = [];
  readonly #seals: Record<Seal, number> = { ours: 0, forged: 0, foreign: 0, none: 0 };
  #more = 0;
  #lines = 0;
  #isOfOther = false;
  records = 0;
  run_id: string | undefined;
  first: RuntimeEvent | undefined;
  last: RuntimeEvent | undefined;
  #tail: Tail = EMPTY_TAIL;
  #head: StoredHead;
  #headHash: string | undefined;

  constructor(options: ChainOptions) {
    this.#options = options;
    if (options.run_id !== undefined) this.#begin(options.run_id);
  }

  add({ text, whole, too_long }: Line): void {
    this.#lines++;
    if (too_long !== undefined)
      return this.#report(this.#tail.seq + 1, `line ${this.#lines} is too long for an event (${too_long} characters)`);
    if (!whole) return this.#noteTorn(text);
    const event = parseEvent(text);
    const expected = this.#tail.seq + 1;
    if (typeof event === "string")
      return this.#report(expected, `${this.#options.unit ?? "line"} ${this.#lines} ${event}`);
    this.#addEvent(event, text, expected);
  }

  /** A row that its store cannot return as an event. */
  addUnreadable(what: string): void {
    this.#lines++;
    this.#report(this.#tail.seq + 1, what);
  }

  #addEvent(event: RuntimeEvent, text: string, expected: number): void {
    this.records++;
    this.first ??= event;
    this.last = event;
    if (this.run_id === undefined) this.#begin(event.run_id);
    if (event.run_id !== this.run_id && !this.#isOfOther) {
      this.#isOfOther = true; // and so are most others of a record that was copied
      this.#report(event.seq, `the event belongs to another run ("${event.run_id}")`);
    }
    if (event.seq !== expected) this.#report(event.seq, `expected record ${expected} here, found ${event.seq}`);
    else if (event.prev_hash !== this.#tail.hash) this.#report(event.seq, "does not follow from the record before it");
    if (!isUnchanged(text, event)) this.#report(event.seq, "the content was changed");
    this.#tail = { seq: event.seq, hash: event.hash };
    this.#checkSeal(event);
    this.#options.onEvent?.(event);
  }

  /** Up to the head the chain proves every record; beyond it, and without one, the MAC must prove it. */
  #checkSeal(event: RuntimeEvent): void {
    const head = this.#head;
    if (typeof head === "object" && event.seq <= head.seq) {
      if (event.seq === head.seq) this.#headHash = event.hash;
      return;
    }
    const seal = this.#sealOf(event);
    this.#seals[seal]++;
    if (seal === "forged") this.#report(event.seq, "the MAC does not match: the record was not written by this user");
    else if (typeof head === "object" && seal !== "ours" && this.#seals.none + this.#seals.foreign === 1)
      this.#report(event.seq, `is past the head (${head.seq}) and lacks the MAC of this user: it was added`);
  }

  #sealOf(event: RuntimeEvent): Seal {
    try {
      return sealOf(event, this.#options.key);
    } catch (error) {
      if (error instanceof RangeError) return "forged"; // nested too deeply to be ours
      throw error;
    }
  }

  verdict(): { readonly problems: readonly AuditProblem[]; readonly notes: readonly AuditProblem[] } {
    this.#compareWithHead();
    const more = this.#more === 0 ? [] : [{ seq: 0, problem: `and ${this.#more} more problems in this run` }];
    const named = (each: AuditProblem): AuditProblem =>
      this.run_id === undefined ? each : { ...each, run_id: this.run_id };
    return { problems: [...this.#problems, ...more].map(named), notes: this.#notes.map(named) };
  }

  #compareWithHead(): void {
    const head = this.#head;
    if (head === "damaged")
      return this.#report(this.#tail.seq, "the head, stored outside the state folder, cannot be read");
    if (typeof head !== "object") return this.#reportHeadless(head);
    if (this.#headHash === head.hash) return;
    const problem =
      this.#headHash === undefined
        ? `the record ends at ${this.#tail.seq}, but its head is at ${head.seq}: the tail was cut`
        : "the record does not match its stored head: it was rewritten";
    this.#report(this.#headHash === undefined ? this.#tail.seq + 1 : head.seq, problem);
  }

  /** A head is written with the first record: if it is missing, it was removed, or was never on this machine. */
  #reportHeadless(head: "begun" | undefined): void {
    const { ours, foreign, none, forged } = this.#seals;
    if (this.records === 0 || forged > 0) return;
    const key = this.first?.mac?.split("-")[0] ?? "";
    if (none > 0)
      this.#report(0, "no head is stored for this run, and its records carry no MAC: its origin is unknown");
    else if (foreign > 0 && ours === 0)
      this.#report(
        0,
        `recorded by another user or machine (key ${key}): the chain is intact, but its end cannot be checked here; "autonous backup" and "restore" include the heads`,
        "unproven",
      );
    else if (head === undefined && this.#options.headFollows !== true)
      this.#report(0, "no head is stored for this run: it was removed, so a cut tail cannot be detected");
  }

  #begin(run_id: string): void {
    this.run_id = run_id;
    this.#head = this.#options.findHead(run_id);
  }

  #noteTorn(text: string): void {
    const problem = `the last line is incomplete (${Buffer.byteLength(text)} bytes): a crash cut it short before it was acknowledged; no record is lost`;
    this.#notes.push({ seq: this.#tail.seq + 1, problem });
  }

  #report(seq: number, problem: string, kind?: ProblemKind): void {
    if (this.#problems.length >= MAX_PROBLEMS) this.#more++;
    else this.#problems.push({ seq, problem, ...(kind === undefined ? {} : { kind }) });
  }
}

/**
 * Whether the hash matches the line. With a duplicate name it does not: the hash covers the last one, and a reader may
 * use the first. Neither does it if the line cannot be walked (nesting of 100,000 levels): we write no such line.
 */
function isUnchanged(text: string, event: RuntimeEvent): boolean {
  if (isSealedLine(text, event)) return true;
  try {
    parseStrictJson(text);
    return hashOfEvent(event) === event.hash;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return false;
    throw error;
  }
}

/** The event, or the problem with the line. */
function parseEvent(text: string): RuntimeEvent | string {
  try {
    const value = JSON.parse(text) as RuntimeEvent | null;
    const isEvent = Number.isInteger(value?.seq) && typeof value?.run_id === "string" && typeof value.hash === "string";
    const hasPayload = typeof value?.payload === "object" && value.payload !== null;
    return isEvent && hasPayload ? value : "is not an event";
  } catch {
    return "is not valid JSON";
  }
}
