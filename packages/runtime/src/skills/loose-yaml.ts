/** A name with a value on the same line, at the left edge. */
const TOP_LEVEL = /^([A-Za-z][\w-]*)[ \t]*:[ \t]+(\S.*)$/;
/** Begins a value that YAML reads in its own way; such a value is left as it is. */
const STRUCTURED = /^[[{|>#]/;
/** A description that only begins like one of those: `[Beta] Fills forms`, `{{name}} forms`, `> Fills forms`. */
const LIKE_STRUCTURED = /^(?:\[[^\]]*\]|\{.*\})[ \t]*[^\s#,\]}]|^[|>][ \t]+[^\s#]/;
const DOUBLE_QUOTED = /^"(?:[^"\\]|\\.)*"[ \t]*(?:#.*)?$/;
const SINGLE_QUOTED = /^'(?:[^']|'')*'[ \t]*(?:#.*)?$/;
/** What plain text may not hold or begin with in YAML. */
const NEEDS_QUOTES = /:(?:\s|$)|^[@`%*]/;

interface Loosened {
  readonly text: string;
  /** The names whose values were taken as plain text. */
  readonly names: readonly string[];
}

/**
 * Front matter that is not YAML because of what publishers forget: quotes around a value with a colon in it, quotes
 * inside quotes, tabs before a line. Gives the text with such values quoted. Only quotes are added, so a value can only
 * become plain text. Undefined: nothing of that kind is in it.
 */
export function quoteValues(yaml: string): Loosened | undefined {
  const lines = yaml.replace(/^[ \t]+/gm, (space) => space.replaceAll("\t", "  ")).split("\n");
  const written: string[] = [];
  const names: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const [line = "", name = "", value = ""] = TOP_LEVEL.exec(lines[at] ?? "") ?? [lines[at]];
    const isText = isDescription(name) && LIKE_STRUCTURED.test(value);
    const isLeft = name === "" || (STRUCTURED.test(value) && !isText);
    const more = isLeft ? [] : linesBelow(lines, at + 1);
    const plain = [value.trimEnd(), ...more.map((each) => each.trim())].join(" ");
    if (isLeft || !(isText || isToQuote(plain))) {
      written.push(line);
      continue;
    }
    written.push(`${name}: ${JSON.stringify(unquoted(plain))}`);
    names.push(name);
    at += more.length;
  }
  const text = written.join("\n");
  return text === yaml ? undefined : { text, names };
}

/** The one field that is text and nothing else: no list in it means anything. */
function isDescription(name: string): boolean {
  return name.toLowerCase() === "description";
}

/** Indented lines continue the value before them. */
function linesBelow(lines: readonly string[], from: number): readonly string[] {
  const end = lines.findIndex((line, index) => index >= from && !/^[ \t]+\S/.test(line));
  return lines.slice(from, end === -1 ? lines.length : end);
}

function isToQuote(value: string): boolean {
  if (value.startsWith('"')) return !DOUBLE_QUOTED.test(value);
  if (value.startsWith("'")) return !SINGLE_QUOTED.test(value);
  return NEEDS_QUOTES.test(value);
}

/** Without the quotes that stand around all of it: `'it's here'`. A list of quoted names keeps its own. */
function unquoted(value: string): string {
  const [first] = value;
  const isQuoted = (first === '"' || first === "'") && value.length > 1 && value.endsWith(first);
  const inner = value.slice(1, -1);
  return isQuoted && !/["']\s*,\s*["']/.test(inner) ? inner : value;
}
