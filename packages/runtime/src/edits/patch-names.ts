import type { PatchReader } from "./patch.ts";

/** The two names of a file in a unified diff, as written. */
export interface Names {
  readonly old: string;
  readonly new: string;
}

export const NOTHING = "/dev/null";

/** The name after `--- `, `+++ `, `rename from ` etc. Text after a tab is a time stamp. */
export function takeName(reader: PatchReader, marker: string): string {
  const text = reader.peek().slice(marker.length);
  const name = text.startsWith('"') ? unquote(text, reader).name : (text.split("\t", 1)[0] ?? "").trimEnd();
  if (name === "" || name.includes("\0")) throw reader.fail(`"${marker}" and a path`);
  reader.next();
  return name;
}

/** The names of `diff --git a/x b/x`; undefined if they cannot be separated. */
export function readGitNames(reader: PatchReader): Names | undefined {
  const text = reader.peek().slice("diff --git ".length).trimEnd();
  if (text.startsWith('"')) {
    const first = unquote(text, reader);
    const rest = text.slice(first.length + 1);
    return { old: first.name, new: rest.startsWith('"') ? unquote(rest, reader).name : rest };
  }
  if (text.endsWith('"')) {
    const at = text.indexOf(' "');
    return { old: text.slice(0, at), new: unquote(text.slice(at + 1), reader).name };
  }
  // Names may contain spaces: the two have the same length and differ only in their prefix.
  const middle = (text.length - 1) / 2;
  if (text[middle] !== " ") return undefined;
  const names = { old: text.slice(0, middle), new: text.slice(middle + 1) };
  const { old, new: renamed } = stripPrefixes(names);
  return old === renamed ? names : undefined;
}

/** Removes `a/` and `b/` if both names have them; a new or deleted file has only one name. */
export function stripPrefixes({ old, new: renamed }: Names): Names {
  const isOld = old === NOTHING || old.startsWith("a/");
  const isNew = renamed === NOTHING || renamed.startsWith("b/");
  if (isOld && isNew) return { old: strip(old), new: strip(renamed) };
  // Git's other prefix pairs: c(ommit), i(ndex), o(bject), w(ork tree), 1 and 2.
  const other = /^[ciow12]\//;
  const differ = old[0] !== renamed[0] && old.slice(1) === renamed.slice(1);
  return other.test(old) && other.test(renamed) && differ
    ? { old: strip(old), new: strip(renamed) }
    : { old, new: renamed };
}

function strip(name: string): string {
  return name === NOTHING ? name : name.slice(2);
}

// oxfmt-ignore
const ESCAPES: Readonly<Record<string, number>> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, "\\": 92 };

/** More than any system allows; escapes make names up to four times as long. */
const LONGEST = 4 * 4096;

/** Decodes a name quoted by Git: `"a/caf\\303\\251"`. `length` is that of the quoted form. */
function unquote(text: string, reader: PatchReader): { readonly name: string; readonly length: number } {
  const pieces = /\\([0-3][0-7]{2})|\\(.)|[^"\\]+/sy;
  pieces.lastIndex = 1;
  const bytes: Buffer[] = [];
  let at = 1;
  for (let piece = pieces.exec(text); piece !== null && at < LONGEST; piece = pieces.exec(text)) {
    const [whole, octal, escape] = piece;
    const byte = octal === undefined ? ESCAPES[escape ?? ""] : Number.parseInt(octal, 8);
    if (byte === undefined && escape !== undefined)
      throw reader.fail("a path in quotes with the escapes that Git uses");
    bytes.push(byte === undefined ? Buffer.from(whole) : Buffer.of(byte));
    at = pieces.lastIndex;
  }
  const name = Buffer.concat(bytes).toString("utf8");
  if (text[at] !== '"' || name.includes("\ufffd")) throw reader.fail("a path in quotes, in UTF-8");
  return { name, length: at + 1 };
}

const NEEDS_QUOTES = /["\\\u0000-\u001f\u007f]/;
const NAMES_OF_ESCAPES = new Map(Object.entries(ESCAPES).map(([name, code]) => [code, name]));

/** A name for a diff: quoted if it would break the line or be misread. */
export function quoteName(name: string): string {
  if (!NEEDS_QUOTES.test(name) && name === name.trimEnd()) return name;
  const escaped = name.replace(/["\\\u0000-\u001f\u007f]/g, (character) => {
    const code = character.charCodeAt(0);
    return `\\${NAMES_OF_ESCAPES.get(code) ?? code.toString(8).padStart(3, "0")}`;
  });
  return `"${escaped}"`;
}
