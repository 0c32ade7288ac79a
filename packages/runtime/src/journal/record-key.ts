import { createHmac, createSecretKey, hash, randomBytes } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { headsFolder } from "./heads.ts";
import { readOwnText } from "../own-files/read-own-file.ts";

/** The key that signs records. It is stored next to the heads, outside every state folder. */
export interface RecordKey {
  /** Identifies the key without revealing it. */
  readonly id: string;
  readonly secret: KeyObject;
}

const ID_LENGTH = 8;
const MAC_LENGTH = 32;
const MAC = new RegExp(`^[0-9a-f]{${ID_LENGTH}}-[0-9a-f]{${MAC_LENGTH}}$`);

export function recordKeyFile(environment: NodeJS.ProcessEnv = process.env): string {
  return join(dirname(headsFolder(environment)), "record.key");
}

const opened = new Map<string, RecordKey>();

/** The key of this user; created on first use. Concurrent processes agree on one. */
export function openRecordKey(file: string = recordKeyFile()): RecordKey {
  const known = opened.get(file);
  if (known !== undefined) return known;
  const key = readRecordKey(file) ?? createKey(file);
  opened.set(file, key);
  return key;
}

/** Creates nothing: undefined if this user has recorded nothing yet. */
export function readRecordKey(file: string = recordKeyFile()): RecordKey | undefined {
  let text: string;
  try {
    text = readOwnText(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  if (!/^[0-9a-f]{64}\n$/.test(text)) throw damagedKey(file);
  const bytes = Buffer.from(text, "hex");
  return { id: hash("sha256", bytes, "hex").slice(0, ID_LENGTH), secret: createSecretKey(bytes) };
}

function damagedKey(file: string): Error {
  return new Error(
    `Cannot use the record key "${file}": it is not 64 hex digits. Restore it from a backup of your home, or move it away: a new one is created, and "autonous audit verify" then reports records past their heads as written with another key`,
  );
}

function createKey(file: string): RecordKey {
  createKeyFile(file, `${randomBytes(32).toString("hex")}\n`);
  const key = readRecordKey(file);
  if (key === undefined) throw new Error(`The record key "${file}" was removed while it was created`);
  return key;
}

/** Published only when complete, with `link`, which never replaces the key of a faster process. */
export function createKeyFile(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${randomBytes(6).toString("hex")}`;
  const fd = openSync(temporary, "wx", 0o600);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  try {
    linkSync(temporary, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** `text`: the part after `prev_hash` in the hash of the event, without `mac`. */
export function macOf({ id, secret }: RecordKey, text: string): string {
  const mac = createHmac("sha256", secret).update(text).digest("hex");
  return `${id}-${mac.slice(0, MAC_LENGTH)}`;
}

/** The key that a MAC names; undefined if it is not a MAC. */
export function keyIdOf(mac: unknown): string | undefined {
  return typeof mac === "string" && MAC.test(mac) ? mac.slice(0, ID_LENGTH) : undefined;
}
