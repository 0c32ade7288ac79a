import { readBodies } from "./call-bodies.ts";
import type { Body, BodyOptions } from "./call-bodies.ts";
import { readTagArguments } from "./call-tags.ts";
import { CodeSpans } from "./code-spans.ts";
import { CANDIDATE, CLOSE, endOfClosers, markerAt } from "./markers.ts";
import type { Marker } from "./markers.ts";
import { TextReader, Unreadable } from "./text-reader.ts";

/** Markup opened by a marker: calls, or attempted calls. */
export interface Envelope extends Partial<Body> {
  readonly certainty: Marker["certainty"];
  readonly start: number;
  /** Position after its calls, where closing and other markup starts. */
  readonly closed_from: number;
  /** Position after its closing markup. */
  readonly end: number;
  readonly form: string;
  /** Why it cannot be parsed. */
  readonly problem?: string;
  /** It starts a line, or follows another one that does. */
  readonly isFirst: boolean;
  /** Only markup follows it. */
  readonly isLast: boolean;
}

type EnvelopeMatch = Omit<Envelope, "isFirst" | "isLast">;

/** All call markup outside code, in order. Linear time. */
export function findEnvelopes(text: string, options: Omit<BodyOptions, "isMarked">): readonly Envelope[] {
  const found: EnvelopeMatch[] = [];
  const reader = new TextReader(text);
  const code = new CodeSpans(text);
  let span = code.nextFrom(0);
  for (let at = candidateFrom(text, 0); at !== undefined;) {
    if (span !== undefined && span.start <= at) {
      if (at < span.end) at = candidateFrom(text, span.end);
      span = code.nextFrom(span.end);
      continue;
    }
    const marker = markerAt(text, at, options.isOffered);
    const envelope =
      marker === undefined || isMentioned(text, marker) || isIndentedCode(text, marker.start)
        ? undefined
        : readEnvelope(reader, marker, options);
    if (envelope !== undefined) found.push(envelope);
    const next = Math.max(at + 1, envelope?.end ?? 0);
    if (span === undefined || next > span.start) span = code.nextFrom(next);
    at = candidateFrom(text, next);
  }
  return withPlaces(text, found);
}

function candidateFrom(text: string, at: number): number | undefined {
  CANDIDATE.lastIndex = at;
  return CANDIDATE.exec(text)?.index;
}

const QUOTE = /["'“”‘’«»]/;

/** `The "<tool_call>" tag`: mentioned in quotes. */
function isMentioned(text: string, { start, end }: Marker): boolean {
  return end > start && QUOTE.test(text[start - 1] ?? "") && QUOTE.test(text[end] ?? "");
}

const INDENTATION = /^(?: {4,}|[ \t]*\t[ \t]*)/;
const MAX_INDENTATION = 100;

/** Markdown's indented code: after an empty line. Not at the start of a reply. */
function isIndentedCode(text: string, start: number): boolean {
  const line = text.slice(Math.max(0, start - MAX_INDENTATION), start);
  const at = line.lastIndexOf("\n");
  if (at === -1 || INDENTATION.exec(line.slice(at + 1))?.[0].length !== line.length - at - 1) return false;
  const before = line.slice(0, at);
  const previous = before.slice(before.lastIndexOf("\n") + 1);
  return previous.trim() === "" || INDENTATION.test(previous);
}

function readEnvelope(
  reader: TextReader,
  marker: Marker,
  options: Omit<BodyOptions, "isMarked">,
): EnvelopeMatch | undefined {
  const { certainty, form = "hermes" } = marker;
  reader.at = marker.end;
  try {
    const body = readContent(reader, marker, { ...options, isMarked: true });
    if (body === undefined) {
      const problem = "it has no name or no arguments";
      return isBegun(reader, marker) ? { certainty, ...brokenPlaces(reader, marker), form, problem } : undefined;
    }
    const closed_from = Math.max(reader.at, marker.end);
    const places = { start: marker.start, closed_from, end: endOfClosers(reader.text, closed_from) };
    const isOwn = body.form !== "json" && !(marker.form === "minimax" && body.form === "anthropic");
    return { certainty, ...places, calls: body.calls, form: isOwn ? body.form : form };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    if (marker.form === "tool tag") return undefined;
    return { certainty, ...brokenPlaces(reader, marker), form, problem: error.message };
  }
}

function brokenPlaces(
  reader: TextReader,
  { start, end }: Marker,
): Pick<EnvelopeMatch, "start" | "closed_from" | "end"> {
  const closed_from = Math.max(reader.at, end);
  return { start, closed_from, end: endOfBroken(reader) };
}

/** Whether a call was intended after a marker: prose mentions markers too. */
function isBegun(reader: TextReader, { start, end, form }: Marker): boolean {
  if (form === "tool tag") return false;
  reader.at = end;
  if (start === end || reader.space().isAtEnd || "{[<".includes(reader.next)) return true;
  // Text between the tags, and nothing after them.
  const close = reader.search(CLOSE);
  return close !== undefined && endOfClosers(reader.text, close.index) >= reader.end;
}

/** Unreadable markup extends to its closing markup. */
function endOfBroken(reader: TextReader): number {
  const close = reader.search(CLOSE);
  return endOfClosers(reader.text, close?.index ?? reader.at);
}

function readContent(reader: TextReader, marker: Marker, options: BodyOptions): Body | undefined {
  const { name, form = "hermes" } = marker;
  if (name === undefined) return readBodies(reader, options);
  if (form === "tool tag") return readToolTag(reader, name, options);
  if (reader.space().startsWith("{")) {
    const { value, repaired } = reader.json();
    return { form, calls: [{ name, input: JSON.stringify(value), repaired }] };
  }
  const { input, repaired } = readTagArguments(reader, options.propertiesOf(name));
  if (input === "{}" && form !== "hermes") throw new Unreadable("its arguments are not a JSON object");
  return { form, calls: [{ name, input, repaired }] };
}

/** `<read><path>a.ts</path></read>`: a tag named like a tool, around tags named like its arguments. */
function readToolTag(reader: TextReader, name: string, { propertiesOf }: BodyOptions): Body | undefined {
  if (!reader.space().startsWith("<")) return undefined;
  const { input, repaired } = readTagArguments(reader, propertiesOf(name));
  const end = `</${name}>`;
  if (input === "{}" || !reader.space().startsWith(end)) return undefined;
  reader.at += end.length;
  return { form: "tool tag", calls: [{ name, input, repaired }] };
}

function withPlaces(text: string, found: readonly EnvelopeMatch[]): readonly Envelope[] {
  const firsts: boolean[] = [];
  for (const [index, { start }] of found.entries()) {
    const before = found[index - 1];
    const at = endOfTextBefore(text, start, before?.end ?? 0);
    const isNext = before !== undefined && at === before.end && (firsts[index - 1] ?? false);
    firsts.push(at === 0 || text[at - 1] === "\n" || isNext);
  }
  const placed: Envelope[] = [];
  for (let index = found.length - 1; index >= 0; index--) {
    const each = found[index];
    if (each === undefined) continue;
    const after = placed.at(-1);
    const isLast = (after?.isLast ?? true) && isBlank(text, each.end, after?.start ?? text.length);
    placed.push({ ...each, isFirst: firsts[index] ?? false, isLast });
  }
  return placed.reverse();
}

/** Position after the last character before `start` that is not a space, but not before `from`. */
function endOfTextBefore(text: string, start: number, from: number): number {
  let at = start;
  while (at > from && (text[at - 1] === " " || text[at - 1] === "\t")) at -= 1;
  return at;
}

function isBlank(text: string, from: number, to: number): boolean {
  return text.slice(from, to).trim() === "";
}
