import type { CST, Node } from "yaml";
import { quote } from "./quote.ts";

interface FrontMatter {
  readonly values: Readonly<Record<string, unknown>>;
  /** The text after it, with line ends as "\n" and without surrounding blank lines. */
  readonly body: string;
  /** Clauses about deviations that were accepted. */
  readonly warnings: readonly string[];
}

type FrontMatterResult = FrontMatter | { readonly problem: string };

/** Published names, descriptions and metadata stay far below this. */
const MAX_CHARACTERS = 16_384;

/**
 * The YAML library recurses once per level, and a stack overflow in it ends the process, so the depth is measured
 * first. Counted in its tokens, two for a list in a list.
 */
const MAX_DEPTH = 24;

const FENCE = /^---[ \t]*$/m;

/** Splits a text that begins with YAML between two lines of "---". Never throws: problems are returned as clauses. */
export async function readFrontMatter(text: string): Promise<FrontMatterResult> {
  const plain = text.replace(/^\u{feff}?\s*(?=---)/u, "").replaceAll(/\r\n?/g, "\n");
  const first = FENCE.exec(plain);
  if (first?.index !== 0) return { problem: 'it has no front matter: its first line has to be "---"' };
  const rest = plain.slice(first[0].length + 1);
  const second = FENCE.exec(rest);
  if (second === null) return { problem: 'its front matter has no end: a line "---" is missing' };
  const yaml = rest.slice(0, second.index);
  if (yaml.length > MAX_CHARACTERS) {
    return { problem: `its front matter has ${yaml.length} characters; the maximum is ${MAX_CHARACTERS}` };
  }
  const read = await readLoosely(yaml);
  if ("problem" in read) return read;
  return { ...read, body: rest.slice(second.index + second[0].length).trim() };
}

type Values = Pick<FrontMatter, "values" | "warnings">;

/**
 * Published front matter is often not quite YAML. If it has only one possible reading it is accepted, with a warning.
 */
async function readLoosely(text: string): Promise<Values | { readonly problem: string }> {
  const strict = await readYaml(text);
  if (!("problem" in strict) || strict.syntax !== true) return strict;
  const loosened = quoteValues(text);
  const read = loosened && (await readYaml(loosened.text));
  if (loosened === undefined || read === undefined || "problem" in read) return { problem: strict.problem };
  const names = loosened.names.map((name) => quote(name)).join(", ");
  const how = names === "" ? "its tabs were read as spaces" : `${names} was read as plain text`;
  return { values: read.values, warnings: [`${strict.problem}; ${how}`] };
}

/** `syntax`: it is not YAML; other problems concern YAML that is not supported. */
type Problem = { readonly problem: string; readonly syntax?: true };

async function readYaml(text: string): Promise<Values | Problem> {
  const { Parser, parseDocument, visit } = await import("yaml");
  const tokens = [...new Parser().parse(text)];
  if (depthOf(tokens) > MAX_DEPTH) return { problem: "its front matter is nested too deeply" };
  if (tokens.some(({ type }) => type === "directive" || type === "doc-end")) {
    return { problem: "its front matter must be plain YAML, without directives and document marks" };
  }
  const document = parseDocument(text, { schema: "core", prettyErrors: false, logLevel: "silent" });
  const [error] = [...document.errors, ...document.warnings];
  if (error !== undefined) {
    return {
      problem: `its front matter is not valid YAML: ${error.message} (${placeOf(text, error.pos[0])})`,
      ...(document.errors.length === 0 ? {} : { syntax: true }),
    };
  }
  let odd: string | undefined;
  // Anchors and aliases expand, and tags create objects: plain data needs neither.
  visit(document, {
    Alias: () => void (odd = "aliases"),
    Node: (_, node) => void (odd = oddityOf(node) ?? odd),
  });
  if (odd !== undefined) return { problem: `its front matter uses ${odd}, which are not supported` };
  const values: unknown = document.toJS();
  if (values === null) return { values: {}, warnings: [] };
  if (typeof values !== "object" || Array.isArray(values)) {
    return { problem: "its front matter must be names with values, such as name: my-skill" };
  }
  return { values: values as Record<string, unknown>, warnings: [] };
}

function oddityOf(node: Node): string | undefined {
  if (node.tag !== undefined) return "tags";
  return "anchor" in node && node.anchor !== undefined ? "anchors" : undefined;
}

/** Without recursion: the text decides how deep this is. */
function depthOf(tokens: readonly CST.Token[]): number {
  const open: { readonly token: object; readonly depth: number }[] = tokens.map((token) => ({ token, depth: 0 }));
  let deepest = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { token, depth } = next;
    deepest = Math.max(deepest, depth);
    const { key, value, items } = token as { key?: unknown; value?: unknown; items?: unknown };
    const below = [key, value, ...(Array.isArray(items) ? (items as unknown[]) : [])];
    for (const each of below)
      if (typeof each === "object" && each !== null) open.push({ token: each, depth: depth + 1 });
  }
  return deepest;
}

/** Line numbers of the file: the front matter begins in its second line. */
function placeOf(text: string, offset: number): string {
  const before = text.slice(0, offset).split("\n");
  return `line ${before.length + 1}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

/** A name with a value on the same line, at the left edge. */
const TOP_LEVEL = /^([A-Za-z][\w-]*)[ \t]*:[ \t]+(\S.*)$/;
/** The beginning of a value that YAML reads in a special way; such a value is left unchanged. */
const STRUCTURED = /^[[{|>#]/;
/** A description that only begins like one of those: `[Beta] Fills forms`, `{{name}} forms`, `> Fills forms`. */
const LIKE_STRUCTURED = /^(?:\[[^\]]*\]|\{.*\})[ \t]*[^\s#,\]}]|^[|>][ \t]+[^\s#]/;
const DOUBLE_QUOTED = /^"(?:[^"\\]|\\.)*"[ \t]*(?:#.*)?$/;
const SINGLE_QUOTED = /^'(?:[^']|'')*'[ \t]*(?:#.*)?$/;
/** Characters that plain YAML text may not contain or begin with. */
const NEEDS_QUOTES = /:(?:\s|$)|^[@`%*]/;

interface RepairedYaml {
  readonly text: string;
  /** The names whose values were read as plain text. */
  readonly names: readonly string[];
}

/**
 * Front matter that is invalid YAML because of common omissions: quotes around a value that contains a colon, quotes
 * inside quotes, tabs before a line. Returns the text with such values quoted. Only quotes are added, so a value can
 * only become plain text. Undefined: it has none of these problems.
 */
function quoteValues(yaml: string): RepairedYaml | undefined {
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

/** The only field that is always text: no list in it has a meaning. */
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

/** Without the quotes around the full text: `'it's here'`. A list of quoted names keeps its quotes. */
function unquoted(value: string): string {
  const [first] = value;
  const isQuoted = (first === '"' || first === "'") && value.length > 1 && value.endsWith(first);
  const inner = value.slice(1, -1);
  return isQuoted && !/["']\s*,\s*["']/.test(inner) ? inner : value;
}
