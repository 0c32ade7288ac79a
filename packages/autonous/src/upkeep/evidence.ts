import { createPrivateKey, createPublicKey, generateKeyPairSync, hash, sign } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { dirname, join } from "node:path";
import { canonicalJson, createKeyFile, FIRST_HASH, headsFolder, readOwnText } from "@autonous/runtime/internal";
import type { RuntimeEvent } from "@autonous/runtime";
import type { AuditRecord } from "@autonous/runtime/internal";

/** Metadata of an export, signed together with the previous hash. */
export interface Seal {
  readonly records: number;
  readonly exported_at: string;
  /** The options that chose the records. */
  readonly filter: Readonly<Record<string, string>>;
  readonly host: string;
  /** Ed25519, DER in base64. */
  readonly public_key: string;
  readonly signature: string;
}

/**
 * Exported records form a separate hash chain, so that they can be checked without the state folder: each line has its
 * number and the hash of the previous line; the last one also has the seal.
 */
export interface Link {
  readonly seq: number;
  readonly prev_hash: string;
  /** sha256 of `prev_hash` and the canonical line without `hash`. */
  readonly hash: string;
  readonly seal?: Seal;
}

export type Fields = Readonly<Record<string, unknown>>;

/**
 * An exported line: the audit record, and the event that contained it, without the record. Combined again, they have
 * the hash of the original event.
 */
export function exportedLine(audit: AuditRecord, event: RuntimeEvent): Fields {
  const { audit: _, ...payload } = event.payload;
  return { run_id: event.run_id, ...audit, event: { ...event, payload } };
}

interface ExportAbout {
  readonly filter: Readonly<Record<string, string>>;
  readonly host: string;
  readonly exported_at: string;
}

/**
 * Links and seals records in constant memory. Holds each record until the next one arrives, because the last one gets
 * the seal.
 */
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

  /** Returns the fingerprint of the signing key; undefined if no record was exported. */
  end(about: ExportAbout): string | undefined {
    if (this.#held === undefined) return undefined;
    const key = openSigningKey();
    const public_key = publicText(key);
    const said = { records: this.#count + 1, ...about, public_key };
    const signature = sign(null, signedText(this.#last, this.#held, said), key).toString("base64");
    this.#giveOn({ ...said, signature });
    return fingerprintOf(public_key);
  }

  #giveOn(sealed?: Seal): void {
    if (this.#held === undefined) return;
    const own = { seq: ++this.#count, prev_hash: this.#last, ...(sealed === undefined ? {} : { seal: sealed }) };
    this.#last = hashOfLine(this.#held, own);
    this.#write({ ...this.#held, export: { ...own, hash: this.#last } });
  }
}

/** The expected hash of a line. */
export function hashOfLine(record: Fields, own: Omit<Link, "hash">): string {
  return hash("sha256", own.prev_hash + canonicalJson({ ...record, export: own }), "hex");
}

export function signedText(prev_hash: string, record: Fields, said: Omit<Seal, "signature">): Buffer {
  return Buffer.from(prev_hash + canonicalJson({ record, said }));
}

function publicText(key: KeyObject): string {
  return createPublicKey(key).export({ format: "der", type: "spki" }).toString("base64");
}

export function fingerprintOf(public_key: string): string {
  return hash("sha256", Buffer.from(public_key, "base64"), "hex").slice(0, 32);
}

/** This user's key for signing exports, stored next to the key of the audit log; created at first use. */
function openSigningKey(): KeyObject {
  const file = join(dirname(headsFolder()), "export.key");
  const text = readText(file);
  if (text !== undefined) return parseKey(text, file);
  createKeyFile(file, generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" }).toString());
  return parseKey(readOwnText(file), file); // another process created it first
}

function readText(file: string): string | undefined {
  try {
    return readOwnText(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function parseKey(text: string, file: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch (error) {
    const next = "restore it from a backup, or move it away: the next export is then signed with a new key";
    throw new Error(`Cannot sign the export: "${file}" is not a valid private key; ${next}`, { cause: error });
  }
}
