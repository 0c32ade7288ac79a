import { redactFields } from "./fields.ts";
import type { Span } from "./find-shape.ts";
import { withGlued } from "./glued.ts";
import { compileKnown } from "./known-values.ts";
import type { KnownValues } from "./known-values.ts";
import { scan } from "./scan.ts";
import { mergeSpans, replaceSpans, spansBefore } from "./spans.ts";
import { createStream } from "./stream.ts";
import type { StreamRedactor } from "./stream.ts";
import { createView } from "./view.ts";

interface RedactOptions {
  /** Secrets known by their value. They are found literally, broken over lines, and as JSON, addresses, base64 and hex write them. */
  readonly known?: Iterable<string>;
}

interface Redacted {
  readonly text: string;
  /** Something was replaced now. Markers that were there before do not count. */
  readonly redacted: boolean;
}

/** What stands right before and after a text in its source. It helps to tell secrets and is not given back. */
interface Around {
  readonly before: string;
  readonly after: string;
}

/** One set of secrets, compiled once. Everything here is pure, never throws on any text, and takes linear time. */
export interface Redactor {
  /** With `around`, a secret that reaches into the text is found although a part of it is not in the text. */
  redact(text: string, around?: Around): Redacted;
  /**
   * The same for JSON data, at any depth: strings, keys, and values that stand under a secret's name. What did not
   * change is the same reference.
   */
  redactValue(value: unknown): { readonly value: unknown; readonly redacted: boolean };
  /** For text that comes in pieces. */
  stream(): StreamRedactor;
}

export function createRedactor({ known = [] }: RedactOptions = {}): Redactor {
  const values = compileKnown(known);
  const redactText = Object.assign((text: string): Redacted => redactWhole(text, values), {
    lines: (lines: readonly string[]): readonly string[] => redactLines(lines, values),
  });
  const redactWithin = (text: string, around?: Around): Redacted =>
    around === undefined ? redactText(text) : redactPart(text, around, values);
  return {
    redact: redactWithin,
    redactValue: (value) => redactFields(value, redactText),
    stream: () => createStream(values),
  };
}

/** Replaces every secret in the text by `***REDACTED***`. To redact often, make a redactor. */
export function redact(text: string, options: RedactOptions = {}): Redacted {
  return redactWhole(text, options.known === undefined ? undefined : compileKnown(options.known));
}

/** A second pass reads what the first one left, as a stream does. Text without a secret is read once. */
function redactWhole(text: string, known: KnownValues | undefined): Redacted {
  const first = hide(text, findSecrets(text, known));
  if (!first.redacted) return first;
  const second = hide(first.text, findSecrets(first.text, known));
  return second.redacted ? second : first;
}

function redactPart(text: string, { before, after }: Around, known: KnownValues | undefined): Redacted {
  const from = before.length;
  const spans = findInPasses(`${before}${text}${after}`, known)
    .map(({ start, end }) => ({ start: Math.max(start - from, 0), end: Math.min(end - from, text.length) }))
    .filter(({ start, end }) => start < end);
  return hide(text, spans);
}

/** Each line as it is in the text that they make up. */
function redactLines(lines: readonly string[], known: KnownValues | undefined): readonly string[] {
  const spans = findInPasses(lines.join("\n"), known);
  if (spans.length === 0) return lines;
  let from = 0;
  let next = 0;
  return lines.map((line) => {
    const end = from + line.length;
    const own: Span[] = [];
    for (let span = spans[next]; span !== undefined && span.start < end; span = spans[next]) {
      if (span.end > from) own.push({ start: Math.max(span.start - from, 0), end: Math.min(span.end, end) - from });
      if (span.end > end) break;
      next++;
    }
    from = end + 1;
    return replaceSpans(
      line,
      own.filter((each) => each.start < each.end),
    );
  });
}

/** What `redactWhole` replaces, as places in the text. */
function findInPasses(text: string, known: KnownValues | undefined): readonly Span[] {
  const first = findSecrets(text, known);
  if (first.length === 0) return first;
  const second = findSecrets(replaceSpans(text, first), known);
  return second.length === 0 ? first : mergeSpans([...first, ...spansBefore(first, second)]);
}

function findSecrets(text: string, known: KnownValues | undefined): readonly Span[] {
  const spans: Span[] = [];
  const view = createView(text, { known });
  if (known === undefined) {
    scan(view, 0, { spans, beside: [] });
  } else {
    const settled = known.find(view, 0, spans);
    scan(view, 0, { spans, beside: [], known: { spans: [...spans], settled } });
  }
  return withGlued(text, mergeSpans(spans));
}

function hide(text: string, spans: readonly Span[]): Redacted {
  return spans.length === 0 ? { text, redacted: false } : { text: replaceSpans(text, spans), redacted: true };
}
