/** A repaired JSON text, and the list of repairs. */
export interface RepairedJson {
  readonly text: string;
  readonly done: readonly string[];
}

const LITERALS: ReadonlyMap<string, string> = new Map([
  ["True", "true"],
  ["False", "false"],
  ["None", "null"],
]);
const WORD = /[A-Za-z_]\w*/y;
const SPACE = /\s*/y;
const PLAIN_ESCAPES = new Set(['"', "\\", "/"]);
const CODED_ESCAPES = new Set(["b", "f", "n", "r", "t"]);
const HEX = /[0-9a-fA-F]{4}/y;

/** The text is ambiguous or cannot be repaired. Thrown and caught only in this file. */
class UnreadableJson extends Error {}

interface Draft {
  readonly text: string;
  readonly out: string[];
  readonly done: Set<string>;
  at: number;
  /** The last character outside of strings that is not white space. */
  last: string;
}

/**
 * Rewrites JSON strictly: without trailing commas, raw control characters in strings, Python literals and quotes, and
 * escapes unknown to JSON. Only if that is unambiguous; undefined otherwise, or if nothing needs repair. The result may
 * still be invalid JSON. Linear time.
 */
export function repairJson(text: string): RepairedJson | undefined {
  const draft: Draft = { text, out: [], done: new Set(), at: 0, last: "" };
  try {
    while (draft.at < text.length) step(draft);
  } catch (error) {
    if (error instanceof UnreadableJson) return undefined;
    throw error;
  }
  return draft.done.size === 0 ? undefined : { text: draft.out.join(""), done: [...draft.done] };
}

function step(draft: Draft): void {
  const { text, at, out } = draft;
  const character = text[at] ?? "";
  if (character === '"' || (character === "'" && "{[,:".includes(draft.last) && draft.last !== "")) {
    takeString(draft, character);
    return;
  }
  if (character === ",") {
    const next = text[endOfSpace(text, at + 1)];
    if (next === "}" || next === "]") {
      if (!isValueEnd(draft.last)) throw new UnreadableJson();
      draft.done.add("trailing comma");
      draft.at += 1;
      return;
    }
  }
  WORD.lastIndex = at;
  const word = WORD.exec(text)?.[0];
  if (word !== undefined) {
    const literal = LITERALS.get(word);
    if (literal !== undefined) draft.done.add("Python literal");
    out.push(literal ?? word);
    draft.at += word.length;
    draft.last = "e";
    return;
  }
  out.push(character);
  draft.at += 1;
  if (!/\s/.test(character)) draft.last = character;
}

function isValueEnd(last: string): boolean {
  return /[\w"}\].]/.test(last);
}

function endOfSpace(text: string, at: number): number {
  SPACE.lastIndex = at;
  SPACE.test(text);
  return SPACE.lastIndex;
}

function takeString(draft: Draft, quote: string): void {
  const { text, out } = draft;
  const escapes = { invalid: false, coded: false };
  out.push('"');
  let at = draft.at + 1;
  for (; ; at++) {
    const character = text[at];
    if (character === undefined) throw new UnreadableJson();
    if (character === quote) break;
    if (character === "\\") {
      at = takeEscape(draft, at, escapes);
      continue;
    }
    out.push(inString(draft, character));
  }
  // A backslash that was not doubled makes the others ambiguous: in "\bword\d", \b is part of a pattern, not a
  // backspace.
  if (escapes.invalid && escapes.coded) throw new UnreadableJson();
  if (quote === "'") {
    const next = text[endOfSpace(text, at + 1)] ?? "";
    if (!",:}]".includes(next) || next === "") throw new UnreadableJson();
    draft.done.add("single quotes");
  }
  out.push('"');
  draft.at = at + 1;
  draft.last = '"';
}

function inString({ done }: Draft, character: string): string {
  if (character === '"') return '\\"';
  if (character >= " ") return character;
  done.add("control character in a string");
  return JSON.stringify(character).slice(1, -1);
}

/** Writes an escape in JSON form; returns the position of its last character. */
function takeEscape({ text, out, done }: Draft, at: number, escapes: { invalid: boolean; coded: boolean }): number {
  const next = text[at + 1];
  if (next === undefined || next < " ") throw new UnreadableJson();
  if (next === "u") {
    HEX.lastIndex = at + 2;
    if (!HEX.test(text)) throw new UnreadableJson();
    escapes.coded = true;
    out.push(text.slice(at, at + 6));
    return at + 5;
  }
  if (PLAIN_ESCAPES.has(next)) out.push(`\\${next}`);
  else if (CODED_ESCAPES.has(next)) {
    escapes.coded = true;
    out.push(`\\${next}`);
  } else if (next === "'") {
    done.add("escape that JSON does not have");
    out.push("'");
  } else {
    escapes.invalid = true;
    done.add("escape that JSON does not have");
    out.push(`\\\\${next}`);
  }
  return at + 1;
}
