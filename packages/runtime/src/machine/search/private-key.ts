import type { FileContent } from "./file-content.ts";

/** A line of only base64, as in the body of a private key. */
const BODY = /^[\s"'>|+-]*[A-Za-z0-9+/]{40,}={0,2}[\s"',\\]*$/;
const MAX_LINE = 4096;
/** Longer than any private key: one of 16,384 bits has 13 kB. */
const KEY_BYTES = 16_384;

export function looksLikeKeyBody(line: string): boolean {
  return line.length <= MAX_LINE && BODY.test(line);
}

/**
 * Whether an offset in a file is inside a private key. A search shows single lines, but the redactor recognizes a key
 * by its first line: without this check a key could be read by searching for it line by line.
 */
export function isInPrivateKey(content: FileContent, offset: number): boolean {
  const from = Math.max(0, offset - KEY_BYTES);
  const before = content.read(from, offset - from).toString("latin1");
  const begin = before.lastIndexOf("-----BEGIN ");
  if (begin < 0 || before.includes("-----END ", begin)) return false;
  return /^-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/.test(before.slice(begin, begin + 80));
}
