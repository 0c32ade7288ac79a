import { redactFields } from "./fields.ts";
import type { Span } from "./shapes/find-shape.ts";
import { withGlued } from "./glued.ts";
import { compileKnown } from "./encodings/known-values.ts";
import type { KnownValues } from "./encodings/known-values.ts";
import { scan } from "./scan.ts";
import { mergeSpans, replaceSpans, spansBefore } from "./text/spans.ts";
import { createStream } from "./stream.ts";
import type { StreamRedactor } from "./stream.ts";
import { createView } from "./text/text-view.ts";

interface RedactOptions {
  /** Secrets known by value. Found verbatim, wrapped over lines, and encoded for JSON, URLs, base64 and hex. */
  readonly known?: Iterable<string>;
}

interface Redacted {
  readonly text: string;
  /** Something was replaced in this call. Earlier markers do not count. */
  readonly redacted: boolean;
}

/** The text right before and after, from the source. It helps to recognize secrets and is not returned. */
interface Around {
  readonly before: string;
  readonly after: string;
}

/** One set of secrets, compiled once. All methods are pure, never throw on any text, and take linear time. */
export interface Redactor {
  /** With `around`, a secret that extends beyond the text is found although the text has only a part of it. */
  redact(text: string, around?: Around): Redacted;
  /**
   * The same for JSON data, at any depth: strings, keys, and values under a secret's name. Unchanged parts keep their
   * reference.
   */
  redactValue(value: unknown): { readonly value: unknown; readonly redacted: boolean };
  /** For text that arrives in chunks. */
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

/** Replaces every secret in the text by `***REDACTED***`. To redact repeatedly, create a redactor. */
export function redact(text: string, options: RedactOptions = {}): Redacted {
  return redactWhole(text, options.known === undefined ? undefined : compileKnown(options.known));
}

/** A second pass reads the output of the first, as a stream does. Text without a secret is read once. */
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

/** Each line as redacted in the text that the lines form together. */
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

/** The spans of the text that `redactWhole` replaces. */
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
