import type { FileContent } from "./file-content.ts";

/** A line of nothing but base64, as the body of a private key is. */
const BODY = /^[\s"'>|+-]*[A-Za-z0-9+/]{40,}={0,2}[\s"',\\]*$/;
const MAX_LINE = 4096;
/** No private key is longer: one of 16,384 bits is 13 kB. */
const KEY_BYTES = 16_384;

export function looksLikeKeyBody(line: string): boolean {
  return line.length <= MAX_LINE && BODY.test(line);
}

/**
 * Whether a place in a file is inside a private key. A search shows single lines, and the redactor knows a key by its
 * first line: without this one line of a key after the other could be searched for.
 */
export function isInPrivateKey(content: FileContent, offset: number): boolean {
  const from = Math.max(0, offset - KEY_BYTES);
  const before = content.read(from, offset - from).toString("latin1");
  const begin = before.lastIndexOf("-----BEGIN ");
  if (begin < 0 || before.includes("-----END ", begin)) return false;
  return /^-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/.test(before.slice(begin, begin + 80));
}
