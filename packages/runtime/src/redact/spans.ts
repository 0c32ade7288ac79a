import type { Span } from "./find-shape.ts";
import { REDACTION_MARKER } from "../protocol/marker.ts";

/** In order, with what overlaps or touches made one: neighbours become one marker. */
export function mergeSpans(spans: readonly Span[]): readonly Span[] {
  if (spans.length < 2) return spans;
  const merged: { start: number; end: number }[] = [];
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else merged.push({ start, end });
  }
  return merged;
}

/** The text with a marker in the place of each span. Spans are in order and do not touch. */
export function replaceSpans(text: string, spans: readonly Span[]): string {
  let result = "";
  let at = 0;
  for (const { start, end } of spans) {
    result += text.slice(at, start) + REDACTION_MARKER;
    at = end;
  }
  return result + text.slice(at);
}
