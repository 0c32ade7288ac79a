import { redactFields } from "./fields.ts";
import type { Span } from "./find-shape.ts";
import { compileKnown } from "./known-values.ts";
import type { KnownValues } from "./known-values.ts";
import { scan } from "./scan.ts";
import { mergeSpans, replaceSpans } from "./spans.ts";
import { createStream } from "./stream.ts";
import type { StreamRedactor } from "./stream.ts";

interface RedactOptions {
  /** Secrets known by their value. They are found literally, and as JSON, addresses and base64 write them. */
  readonly known?: Iterable<string>;
}

interface Redacted {
  readonly text: string;
  /** Something was replaced now. Markers that were there before do not count. */
  readonly redacted: boolean;
}

/** One set of secrets, compiled once. Everything here is pure, never throws on any text, and takes linear time. */
export interface Redactor {
  redact(text: string): Redacted;
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
  const redactText = (text: string): Redacted => redactWhole(text, values);
  return {
    redact: redactText,
    redactValue: (value) => redactFields(value, redactText),
    stream: () => createStream(values),
  };
}

/** Replaces every secret in the text by `***REDACTED***`. To redact often, make a redactor. */
export function redact(text: string, options: RedactOptions = {}): Redacted {
  return redactWhole(text, options.known === undefined ? undefined : compileKnown(options.known));
}

function redactWhole(text: string, known: KnownValues | undefined): Redacted {
  const spans: Span[] = [];
  const view = { text, final: true, floor: -1, short: false };
  if (known === undefined) {
    scan(view, 0, { spans });
  } else {
    const settled = known.find(view, 0, spans);
    scan(view, 0, { spans, borders: { spans: mergeSpans(spans), settled } });
  }
  if (spans.length === 0) return { text, redacted: false };
  return { text: replaceSpans(text, mergeSpans(spans)), redacted: true };
}
