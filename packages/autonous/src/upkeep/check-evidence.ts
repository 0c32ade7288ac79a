import { createPublicKey, verify } from "node:crypto";
import {
  FIRST_HASH,
  hashOfEvent,
  parseEvent,
  parseStrictJson,
  readLines,
  readRecordKey,
  sealOf,
} from "@autonous/runtime/internal";
import type { AuditVerdict, RuntimeEvent } from "@autonous/runtime";
import type { AuditProblem } from "@autonous/runtime/internal";
import { fingerprintOf, hashOfLine, signedText } from "./evidence.ts";
import type { Fields, Link, Seal } from "./evidence.ts";

/** The event that an exported record comes from. */
interface Origin {
  readonly event_id: string;
  readonly hash: string;
}

export interface EvidenceVerdict extends AuditVerdict {
  /** Fingerprint of the signing key, if the seal exists and its signature is valid. */
  readonly key?: string;
  /** By run id and event number, for comparison with the original audit log. */
  readonly origins: ReadonlyMap<string, ReadonlyMap<number, Origin>>;
}

/** Lines read to detect the kind of a file: the first ones may be damaged. */
const MAX_SCANNED = 100;

/** export: a line has the link of an exported record. record: a line is an event. neither: unknown content. */
export async function kindOfFile(file: string): Promise<"export" | "record" | "neither"> {
  let looked = 0;
  for await (const lines of readLines(file))
    for (const { text } of lines) {
      if (looked++ === MAX_SCANNED) return "neither";
      if (readLine(text).link !== undefined) return "export";
      if (parseEvent(text) !== undefined) return "record";
    }
  return "neither";
}

/** Checks an export on any machine, without a state folder. `key`: fingerprint of the required signing key. */
export async function verifyEvidence(file: string, key?: string): Promise<EvidenceVerdict> {
  const check = new EvidenceCheck();
  for await (const lines of readLines(file))
    for (const { text, too_long } of lines) check.add(too_long === undefined ? text : "");
  return check.verdict(key);
}

const MAX_PROBLEMS = 20;

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
    if (this.#sealed !== undefined) this.#report(link.seq, "comes after the seal: it was added later");
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

  /** Checks that the line matches the original event, whose hash it contains. */
  #checkEvent({ event: origin, ...record }: Fields, seq: number): void {
    const { run_id, ...audit } = record;
    const { payload } = fieldsOf(origin);
    const whole = { ...fieldsOf(origin), payload: { ...fieldsOf(payload), audit } };
    const event = parseEvent(JSON.stringify(whole));
    if (event === undefined) return this.#report(seq, "does not name the event of the original record");
    if (event.run_id !== run_id || hashOfEvent(event) !== event.hash)
      return this.#report(seq, `does not match event ${event.seq} of run "${event.run_id}" (by that event's hash)`);
    if (sealOf(event, this.#key) === "forged")
      this.#report(seq, "names this user's key, but its MAC is wrong: it was not recorded by this user");
    this.#keepOrigin(event);
  }

  #keepOrigin({ run_id, seq, event_id, hash }: RuntimeEvent): void {
    const ofRun = this.#origins.get(run_id) ?? new Map<number, Origin>();
    this.#origins.set(run_id, ofRun.set(seq, { event_id, hash }));
  }

  verdict(wanted: string | undefined): EvidenceVerdict {
    if (this.#records === 0) this.#report(0, "the export has no records: it was emptied, or nothing matched");
    else if (this.#sealed === undefined)
      this.#report(this.#seq + 1, "the export has no seal at its end: it was truncated");
    else this.#checkSeal(this.#sealed, wanted);
    const more = this.#more === 0 ? [] : [{ seq: 0, problem: `and ${this.#more} more problems in this export` }];
    const problems = [...this.#problems, ...more];
    const key = this.#sealed?.isSigned === true ? { key: fingerprintOf(this.#sealed.seal.public_key) } : {};
    return { ok: problems.length === 0, records: this.#records, problems, ...key, origins: this.#origins };
  }

  #checkSeal({ seal, isSigned: isRight, seq }: FoundSeal, wanted: string | undefined): void {
    if (seal.records !== this.#records)
      this.#report(seq, `the seal covers ${seal.records} records, found ${this.#records}`);
    if (!isRight) this.#report(seq, "the signature of the seal is wrong");
    else if (wanted !== undefined && fingerprintOf(seal.public_key) !== wanted)
      this.#report(seq, `signed by key ${fingerprintOf(seal.public_key)}, not by ${wanted}`);
  }

  #report(seq: number, problem: string): void {
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push({ seq, problem });
    else this.#more++;
  }
}

function isOfHash(record: Fields, own: Omit<Link, "hash">, claimed: string): boolean {
  try {
    return hashOfLine(record, own) === claimed;
  } catch (error) {
    if (error instanceof RangeError) return false; // nested deeper than any record we write
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

/** Some programs on other systems put it at the start of a text. */
const BYTE_ORDER_MARK = /^\uFEFF/;

/** Rejects duplicate keys: some readers use the first one, but the hash covers the last. */
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
