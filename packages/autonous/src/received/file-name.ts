import { extname } from "node:path";
import { dropHidden } from "@autonous/runtime/internal";

/** File systems allow 255 bytes; a number may be appended. */
const MAX_BYTES = 200;
/** Longer extensions do not identify a file type. */
const MAX_EXTENSION_BYTES = 20;

/** Grapheme clusters: an emoji of several code points is one character. */
const CHARACTERS = new Intl.Segmenter("und", { granularity: "grapheme" });
/** Device names on Windows, with any extension: a workspace may be shared with Windows. */
const DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i;

/**
 * Turns a file name chosen by others into a safe one: not a path, without invisible characters, direction marks and
 * characters that a shell expands or executes. Parentheses stay: browsers use them to number files.
 */
export function safeFileName(name: string, fallback: string): string {
  const last = name.toWellFormed().normalize("NFC").split(/[/\\]/).at(-1) ?? "";
  const plain = dropHidden(last.replaceAll(/[<>:"'|?*`$;&!#~^{}]/g, "_"))
    .replaceAll(/\s+/g, " ")
    .replace(/^[\s-]+/, "")
    .replace(/[\s.]+$/, "")
    .replace(DEVICE, "_$&");
  return plain === "" || /^\.+$/.test(plain) ? fallback : shortened(plain);
}

function shortened(name: string): string {
  if (Buffer.byteLength(name) <= MAX_BYTES) return name;
  const found = extname(name);
  const extension = Buffer.byteLength(found) <= MAX_EXTENSION_BYTES ? found : "";
  let stem = "";
  for (const { segment } of CHARACTERS.segment(name.slice(0, name.length - extension.length))) {
    if (Buffer.byteLength(stem + segment + extension) > MAX_BYTES) break;
    stem += segment;
  }
  return `${dropHidden(stem).trimEnd()}${extension}`;
}

/** The same name with a number, for use when the name is taken: `a.txt`, `a-2.txt`, `a-3.txt`. */
export function numberedName(name: string, number: number): string {
  if (number === 1) return name;
  const extension = extname(name);
  return `${name.slice(0, name.length - extension.length)}-${number}${extension}`;
}
