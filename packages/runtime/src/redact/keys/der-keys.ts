import type { SecretMatch, Span } from "../shapes/find-shape.ts";
import { standsAlone } from "../shapes/find-shape.ts";
import { rightOf, runEnd } from "../text/text-view.ts";
import { setOf } from "../text/character-sets.ts";
import type { View } from "../text/text-view.ts";

/** The possible base64 beginnings of a DER private key: a SEQUENCE with a length of one, two or three bytes. */
export const DER_BEGINNINGS: readonly string[] = [
  "MII",
  "MIG",
  "MIH",
  "MHc",
  "MHQ",
  "MC4",
  "MFM",
  "MFE",
  "MEc",
  "MEU",
  "MGg",
];

const BASE64 = setOf("A-Za-z0-9+/=");
/** Enough bytes for the tags that distinguish the structures. */
const HEAD = 48;
const LEAST = 60;

/** A private key as DER in base64, without PEM's lines around it. `anchor` is its beginning. */
export function findDerKey(view: View, { start, end }: Span): SecretMatch | undefined {
  const beginning = view.text.slice(start, end);
  if (!DER_BEGINNINGS.includes(beginning) || !standsAlone(view, start)) return undefined;
  const stop = runEnd(view, end, { of: BASE64, window: LEAST });
  if (stop - start < LEAST) return undefined;
  const head = rightOf(view, start, HEAD);
  if (head.includes("=") || !isPrivateKey(atob(head))) return undefined;
  return { start, end: stop, tail: { kind: "key-body" } };
}

const INTEGER = 0x02;
const OCTETS = 0x04;
const OBJECT = 0x06;
const SEQUENCE = 0x30;
/** Password-based encryption (PKCS #5 and #12): the beginning of an encrypted key. */
const PASSWORD_BASED = ["\x2a\x86\x48\x86\xf7\x0d\x01\x05", "\x2a\x86\x48\x86\xf7\x0d\x01\x0c\x01"];

/**
 * PKCS #1 and DSA: version 0 and another number; SEC 1: version 1 and octets; PKCS #8: version 0 or 1 and a sequence,
 * encrypted: algorithm and octets; PKCS #12: version 3 and a sequence. Certificates and public keys begin with a
 * sequence.
 */
function isPrivateKey(der: string): boolean {
  const at = headerEnd(der, 0);
  if (der.charCodeAt(0) !== SEQUENCE || at === undefined) return false;
  if (der.charCodeAt(at) === SEQUENCE) return isEncrypted(der, headerEnd(der, at));
  if (der.charCodeAt(at) !== INTEGER || der.charCodeAt(at + 1) !== 1) return false;
  const version = der.charCodeAt(at + 2);
  const next = der.charCodeAt(at + 3);
  if (version === 0) return next === INTEGER || next === SEQUENCE;
  if (version === 1) return next === OCTETS || next === SEQUENCE;
  return version === 3 && next === SEQUENCE;
}

function isEncrypted(der: string, at: number | undefined): boolean {
  if (at === undefined || der.charCodeAt(at) !== OBJECT) return false;
  return PASSWORD_BASED.some((each) => der.startsWith(each, at + 2));
}

/** Skips a tag and its length. */
function headerEnd(der: string, at: number): number | undefined {
  const length = der.charCodeAt(at + 1);
  if (length < 0x80) return at + 2;
  return length === 0x81 || length === 0x82 || length === 0x83 ? at + 2 + (length - 0x80) : undefined;
}
