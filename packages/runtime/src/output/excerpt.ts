import type { OutputLimits } from "../contract/context.ts";

export interface Excerpt {
  readonly text: string;
  readonly truncated_lines: boolean;
  readonly truncated_bytes: boolean;
}

/**
 * The beginning of a text within both limits: whole lines, never half a character, and part of a line only if the first
 * line alone exceeds the limit (spec 1, Output limits). A text within the limits is returned unchanged.
 */
export function excerptHead(text: string, limits: OutputLimits): Excerpt {
  if (fits(text, limits)) return { text, truncated_lines: false, truncated_bytes: false };
  const byLines = endOfLine(text, limits.lines);
  const head = text.slice(0, byLines);
  if (Buffer.byteLength(head) <= limits.bytes) return { text: head, truncated_lines: true, truncated_bytes: false };
  const cut = cutBytes(head, limits.bytes);
  const lineEnd = cut.lastIndexOf("\n");
  return { text: lineEnd < 0 ? cut : cut.slice(0, lineEnd + 1), truncated_lines: false, truncated_bytes: true };
}

function fits(text: string, { lines, bytes }: OutputLimits): boolean {
  if (text.length > bytes) return false;
  return Buffer.byteLength(text) <= bytes && endOfLine(text, lines) === text.length;
}

/** Where the first `lines` lines end, including their line ends; the text's length if it has no more. */
function endOfLine(text: string, lines: number): number {
  let at = 0;
  for (let count = 0; count < lines; count++) {
    const next = text.indexOf("\n", at);
    if (next < 0) return text.length;
    at = next + 1;
  }
  return at;
}

/** The longest beginning of at most `bytes` bytes of UTF-8 that ends between characters. */
function cutBytes(text: string, bytes: number): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytes));
  return text.slice(0, read);
}
