import { extname } from "node:path";
import { dropHidden } from "@autonous/runtime";

/** File systems take 255 bytes; a number may be appended. */
const MOST_BYTES = 200;
/** Longer ones say nothing about the kind of a file. */
const MOST_EXTENSION_BYTES = 20;

/** As people see them: an emoji of several is one. */
const CHARACTERS = new Intl.Segmenter("und", { granularity: "grapheme" });
/** Devices on Windows, with whatever extension: a workspace may be shared with it. */
const DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/i;

/**
 * A name that others chose, as one that can be made in a folder: not a path, nothing that is invisible or turns the
 * direction of text, no sign by which a shell runs or replaces something. Parentheses stay: browsers number files by them.
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
  if (Buffer.byteLength(name) <= MOST_BYTES) return name;
  const found = extname(name);
  const extension = Buffer.byteLength(found) <= MOST_EXTENSION_BYTES ? found : "";
  let stem = "";
  for (const { segment } of CHARACTERS.segment(name.slice(0, name.length - extension.length))) {
    if (Buffer.byteLength(stem + segment + extension) > MOST_BYTES) break;
    stem += segment;
  }
  return `${dropHidden(stem).trimEnd()}${extension}`;
}

/** The same name with a number, for where there is a file of that name already: `a.txt`, `a-2.txt`, `a-3.txt`. */
export function numberedName(name: string, number: number): string {
  if (number === 1) return name;
  const extension = extname(name);
  return `${name.slice(0, name.length - extension.length)}-${number}${extension}`;
}
