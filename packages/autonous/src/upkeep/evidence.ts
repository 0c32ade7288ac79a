import { createPrivateKey, createPublicKey, generateKeyPairSync, hash, sign, verify } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { canonicalJson, createKeyFile, FIRST_HASH, headsFolder, readLines } from "@autonous/runtime";
import type { AuditProblem, AuditVerdict } from "@autonous/runtime";

/**
 * Exported records form a chain of their own, so that they can be checked without the state folder: each line carries
 * its number and the hash of the line before it, the last one also the seal.
 */
interface Link {
  readonly seq: number;
  readonly prev_hash: string;
  /** sha256 of `prev_hash` and the canonical line without `hash`. */
  readonly hash: string;
  readonly seal?: Seal;
}

/** What the export says of itself, with a signature over it and over the hash before it. */
interface Seal {
  readonly records: number;
  readonly exported_at: string;
  /** The options that chose the records. */
  readonly filter: Readonly<Record<string, string>>;
  readonly host: string;
  /** Ed25519, DER in base64. */
  readonly public_key: string;
  readonly signature: string;
}

type Fields = Readonly<Record<string, unknown>>;

export interface ExportAbout {
  readonly filter: Readonly<Record<string, string>>;
  readonly host: string;
  readonly exported_at: string;
}

/** Links and seals records, in constant memory: a record is given on when the next one shows that it is not the last. */
export class EvidenceWriter {
  readonly #write: (line: Fields) => void;
  #held: Fields | undefined;
  #last = FIRST_HASH;
  #count = 0;

  constructor(write: (line: Fields) => void) {
    this.#write = write;
  }

  add(record: Fields): void {
    this.#giveOn();
    this.#held = record;
  }

  /** Gives the fingerprint of the key that signed; undefined where there was nothing to export. */
  end(about: ExportAbout): string | undefined {
    if (this.#held === undefined) return undefined;
    const key = openSigningKey();
    const public_key = publicText(key);
    const said = { records: this.#count + 1, ...about, public_key };
    const signature = sign(null, signedText(this.#last, this.#held, said), key).toString("base64");
    this.#giveOn({ ...said, signature });
    return fingerprintOf(public_key);
  }

  #giveOn(seal?: Seal): void {
    if (this.#held === undefined) return;
    const link = { seq: ++this.#count, prev_hash: this.#last, ...(seal === undefined ? {} : { seal }) };
    const unsealed = { ...this.#held, export: link };
    this.#last = hash("sha256", link.prev_hash + canonicalJson(unsealed), "hex");
    this.#write({ ...this.#held, export: { ...link, hash: this.#last } });
  }
}

function signedText(prev_hash: string, record: Fields, said: Omit<Seal, "signature">): Buffer {
  return Buffer.from(prev_hash + canonicalJson({ record, said }));
}

/** Whether the first line of a file is one of an export. */
export async function isEvidence(file: string): Promise<boolean> {
  for await (const lines of readLines(file)) for (const { text } of lines) return linkOf(parse(text)) !== undefined;
  return false;
}

export interface EvidenceVerdict extends AuditVerdict {
  /** Of the key that signed, where the seal is there and right. */
  readonly key?: string;
}

/** Checks an export anywhere. `key`: the fingerprint that the signature has to be of. */
export async function verifyEvidence(file: string, key?: string): Promise<EvidenceVerdict> {
  const check = new EvidenceCheck();
  for await (const lines of readLines(file)) for (const { text } of lines) check.add(text);
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
  #line = 0;
  #seq = 0;
  #records = 0;
  #last = FIRST_HASH;
  #sealed: FoundSeal | undefined;

  add(text: string): void {
    this.#line++;
    const value = parse(text);
    const link = linkOf(value);
    if (value === undefined || link === undefined)
      return this.#report(
        this.#seq + 1,
        `line ${this.#line} is not ${value === undefined ? "valid JSON" : "an exported record"}`,
      );
    this.#records++;
    const { hash: claimed, ...unsealed } = link;
    if (this.#sealed !== undefined) this.#report(link.seq, "stands after the seal: it was added");
    if (link.seq !== this.#seq + 1) this.#report(link.seq, `expected record ${this.#seq + 1} here, found ${link.seq}`);
    else if (link.prev_hash !== this.#last) this.#report(link.seq, "does not follow from the record before it");
    const { export: _, ...record } = value;
    const found = hash("sha256", link.prev_hash + canonicalJson({ ...record, export: unsealed }), "hex");
    if (found !== claimed) this.#report(link.seq, "the content was changed");
    if (link.seal !== undefined) this.#sealed = { seal: link.seal, isSigned: isSigned(link, record), seq: link.seq };
    this.#seq = link.seq;
    this.#last = claimed;
  }

  verdict(wanted: string | undefined): EvidenceVerdict {
    if (this.#sealed === undefined) this.#report(this.#seq + 1, "the export has no seal at its end: it was cut");
    else this.#checkSeal(this.#sealed, wanted);
    const ok = this.#problems.length === 0;
    const key = this.#sealed?.isSigned === true ? { key: fingerprintOf(this.#sealed.seal.public_key) } : {};
    return { ok, records: this.#records, problems: this.#problems, ...key };
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

function parse(text: string): Fields | undefined {
  try {
    const value = JSON.parse(text) as Fields | null;
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined; // the caller reports it
  }
}

function linkOf(value: Fields | undefined): Link | undefined {
  const link = value?.["export"] as Partial<Link> | null | undefined;
  const isLink = typeof link?.seq === "number" && typeof link.prev_hash === "string" && typeof link.hash === "string";
  return isLink ? (link as Link) : undefined;
}

function publicText(key: KeyObject): string {
  return createPublicKey(key).export({ format: "der", type: "spki" }).toString("base64");
}

function fingerprintOf(public_key: string): string {
  return hash("sha256", Buffer.from(public_key, "base64"), "hex").slice(0, 32);
}

/** The key of this user that signs exports, beside the key of the record; created at first use. */
function openSigningKey(): KeyObject {
  const file = join(dirname(headsFolder()), "export.key");
  for (;;) {
    try {
      return createPrivateKey(readFileSync(file));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    createKeyFile(file, generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" }).toString());
  }
}
