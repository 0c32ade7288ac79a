import type { SecretMatch, Span } from "../shapes/find-shape.ts";
import { rightOf } from "../text/text-view.ts";
import type { View } from "../text/text-view.ts";
import { keepPublicBlock } from "./key-lines.ts";

/** The longest private key: a 16,384-bit RSA key is 13 kB, a PGP key ring is larger. Beyond this no end is expected. */
const KEY_WINDOW = 65_536;

const BEGIN = /^-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----/;
const OTHER_BEGIN = /^-----BEGIN [A-Z0-9 ]{1,50}-----/;
const END = /^-----END [A-Z0-9 ]{0,40}-{0,5}/;

/** A private key in PEM, OpenSSH or PGP form, from its first line to its last, or to the end of its body. */
export function findPrivateKey(view: View, { start }: Span): SecretMatch | undefined {
  const header = BEGIN.exec(rightOf(view, start, 80));
  if (header === null) {
    const other = OTHER_BEGIN.exec(rightOf(view, start, 80));
    return other === null ? undefined : keepPublicBlock(view, { start, end: start + other[0].length });
  }
  const bodyStart = start + header[0].length;
  const window = view.text.slice(bodyStart, bodyStart + KEY_WINDOW);
  // The end of the next block is not the end of this one. Stopping there also keeps many headers cheap.
  const next = window.indexOf("-----BEGIN ");
  const body = next < 0 ? window : window.slice(0, next);
  const footer = body.indexOf("-----END ");
  if (footer >= 0) {
    const at = bodyStart + footer;
    return { start, end: at + (END.exec(rightOf(view, at, 60))?.[0].length ?? "-----END ".length) };
  }
  if (next < 0 && window.length < KEY_WINDOW && !view.final) view.short = true;
  return { start, end: bodyStart, tail: { kind: "key-body" } };
}

/** The private half of a PuTTY key: `Private-Lines: 14` and as many lines of base64. */
export function findPuttyKey(view: View, { end }: Span): SecretMatch | undefined {
  const count = /^:[ \t]{0,4}\d{1,3}(?:\r?\n|\\{1,4}r?\\{0,4}n)/.exec(rightOf(view, end, 24));
  if (count === null) return undefined;
  const start = end + count[0].length;
  return /^[A-Za-z0-9+/]{16}/.test(rightOf(view, start, 16))
    ? { start, end: start, tail: { kind: "key-body" } }
    : undefined;
}
