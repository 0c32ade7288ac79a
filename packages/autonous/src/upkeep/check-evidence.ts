import { createPublicKey, verify } from "node:crypto";
import {
  FIRST_HASH,
  hashOfEvent,
  parseEvent,
  parseStrictJson,
  readLines,
  readRecordKey,
  sealOf,
} from "@autonous/runtime";
import type { AuditProblem, AuditVerdict, RuntimeEvent } from "@autonous/runtime";
import { fingerprintOf, hashOfLine, signedText } from "./evidence.ts";
import type { Fields, Link, Seal } from "./evidence.ts";

/** Where an exported record comes from: an event of a run, by its number, with its id and its hash. */
interface Origin {
  readonly event_id: string;
  readonly hash: string;
}

export interface EvidenceVerdict extends AuditVerdict {
  /** Of the key that signed, where the seal is there and right. */
  readonly key?: string;
  /** By run and number, to compare with the original record. */
  readonly origins: ReadonlyMap<string, ReadonlyMap<number, Origin>>;
}

/** Lines read to find out what a file is: the first of them may be damaged. */
const MOST_LOOKED_AT = 100;

/** export: a line of it is linked as those of an export are. record: a line is an event. neither: nothing says what it is. */
export async function kindOfFile(file: string): Promise<"export" | "record" | "neither"> {
  let looked = 0;
  for await (const lines of readLines(file))
    for (const { text } of lines) {
      if (looked++ === MOST_LOOKED_AT) return "neither";
      if (readLine(text).link !== undefined) return "export";
      if (parseEvent(text) !== undefined) return "record";
    }
  return "neither";
}

/** Checks an export anywhere. `key`: the fingerprint that the signature has to be of. */
export async function verifyEvidence(file: string, key?: string): Promise<EvidenceVerdict> {
  const check = new EvidenceCheck();
  for await (const lines of readLines(file))
    for (const { text, too_long } of lines) check.add(too_long === undefined ? text : "");
  return check.verdict(key);
}

const MOST_PROBLEMS = 20;

interface FoundSeal {
  readonly seal: Seal;
  readonly isSigned: boolean;
  readonly seq: number;
}

class EvidenceCheck {
  readonly #problems: AuditProblem[] = [];
  readonly #origins = new Map<string, Map<number, Origin>>();
  readonly #key = readRecordKey();
  #more = 0;
  #line = 0;
  #seq = 0;
  #records = 0;
  #last = FIRST_HASH;
  #sealed: FoundSeal | undefined;

  add(text: string): void {
    this.#line++;
    const { value, link, problem } = readLine(text);
    if (value === undefined || link === undefined)
      return this.#report(this.#seq + 1, `line ${this.#line} is not ${problem ?? "an exported record"}`);
    this.#records++;
    if (this.#sealed !== undefined) this.#report(link.seq, "stands after the seal: it was added");
    if (link.seq !== this.#seq + 1) this.#report(link.seq, `expected record ${this.#seq + 1} here, found ${link.seq}`);
    else if (link.prev_hash !== this.#last) this.#report(link.seq, "does not follow from the record before it");
    const { export: _, ...record } = value;
    const { hash: claimed, ...own } = link;
    if (!isOfHash(record, own, claimed)) this.#report(link.seq, "the content was changed");
    else this.#checkEvent(record, link.seq);
    if (link.seal !== undefined) this.#sealed = { seal: link.seal, isSigned: isSigned(link, record), seq: link.seq };
    this.#seq = link.seq;
    this.#last = claimed;
  }

  /** What the line says is what the event of the original record says, whose hash it carries. */
  #checkEvent({ event: origin, ...record }: Fields, seq: number): void {
    const { run_id, ...audit } = record;
    const { payload } = fieldsOf(origin);
    const whole = { ...fieldsOf(origin), payload: { ...fieldsOf(payload), audit } };
    const event = parseEvent(JSON.stringify(whole));
    if (event === undefined) return this.#report(seq, "does not name the event of the original record");
    if (event.run_id !== run_id || hashOfEvent(event) !== event.hash)
      return this.#report(
        seq,
        `is not what event ${event.seq} of run "${event.run_id}" says, by that event's own hash`,
      );
    if (sealOf(event, this.#key) === "forged")
      this.#report(seq, "names the key of this user, and the mac is wrong: it was not recorded by this user");
    this.#keepOrigin(event);
  }

  #keepOrigin({ run_id, seq, event_id, hash }: RuntimeEvent): void {
    const ofRun = this.#origins.get(run_id) ?? new Map<number, Origin>();
    this.#origins.set(run_id, ofRun.set(seq, { event_id, hash }));
  }

  verdict(wanted: string | undefined): EvidenceVerdict {
    if (this.#records === 0)
      this.#report(0, "the export holds no records: it was emptied, or there was nothing to export");
    else if (this.#sealed === undefined) this.#report(this.#seq + 1, "the export has no seal at its end: it was cut");
    else this.#checkSeal(this.#sealed, wanted);
    const more = this.#more === 0 ? [] : [{ seq: 0, problem: `and ${this.#more} more problems in this export` }];
    const problems = [...this.#problems, ...more];
    const key = this.#sealed?.isSigned === true ? { key: fingerprintOf(this.#sealed.seal.public_key) } : {};
    return { ok: problems.length === 0, records: this.#records, problems, ...key, origins: this.#origins };
  }

  #checkSeal({ seal, isSigned: isRight, seq }: FoundSeal, wanted: string | undefined): void {
    if (seal.records !== this.#records)
      this.#report(seq, `the seal is of ${seal.records} records, found ${this.#records}`);
    if (!isRight) this.#report(seq, "the signature of the seal is wrong");
    else if (wanted !== undefined && fingerprintOf(seal.public_key) !== wanted)
      this.#report(seq, `signed by key ${fingerprintOf(seal.public_key)}, not by ${wanted}`);
  }

  #report(seq: number, problem: string): void {
    if (this.#problems.length < MOST_PROBLEMS) this.#problems.push({ seq, problem });
    else this.#more++;
  }
}

function isOfHash(record: Fields, own: Omit<Link, "hash">, claimed: string): boolean {
  try {
    return hashOfLine(record, own) === claimed;
  } catch (error) {
    if (error instanceof RangeError) return false; // nested deeper than any record that we write
    throw error;
  }
}

function isSigned({ prev_hash, seal }: Link, record: Fields): boolean {
  if (seal === undefined) return false;
  const { signature, ...said } = seal;
  try {
    const key = createPublicKey({ key: Buffer.from(said.public_key, "base64"), format: "der", type: "spki" });
    return verify(null, signedText(prev_hash, record, said), key, Buffer.from(signature, "base64"));
  } catch {
    return false; // not a key, or not a signature: the caller reports it
  }
}

interface ReadLine {
  readonly value?: Fields;
  readonly link?: Link;
  readonly problem?: string;
}

/** Marks that programs of other systems put at the beginning of a text. */
const BYTE_ORDER_MARK = /^\uFEFF/;

/** Names that stand twice are refused: one reader would take the first, and the hash is of the last. */
function readLine(text: string): ReadLine {
  let value: unknown;
  try {
    value = parseStrictJson(text.replace(BYTE_ORDER_MARK, ""));
  } catch {
    return { problem: "valid JSON" };
  }
  const link = fieldsOf(value)["export"];
  return isLink(link) ? { value: fieldsOf(value), link } : {};
}

function isLink(value: unknown): value is Link {
  const { seq, prev_hash, hash, seal } = fieldsOf(value);
  const areHashes = typeof prev_hash === "string" && typeof hash === "string";
  return Number.isInteger(seq) && areHashes && (seal === undefined || isSeal(seal));
}

function isSeal(value: unknown): value is Seal {
  const { records, exported_at, filter, host, public_key, signature } = fieldsOf(value);
  const texts = [exported_at, host, public_key, signature];
  return Number.isInteger(records) && typeof filter === "object" && texts.every((each) => typeof each === "string");
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}
