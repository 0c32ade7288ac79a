import type { Span } from "../shapes/find-shape.ts";
import { REDACTION_MARKER } from "../../protocol/marker.ts";

/** Sorted, with overlapping or adjacent spans merged: neighbors become one marker. */
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

/** The text with each span replaced by a marker. Spans are sorted and do not touch. */
export function replaceSpans(text: string, spans: readonly Span[]): string {
  let result = "";
  let at = 0;
  for (const { start, end } of spans) {
    result += text.slice(at, start) + REDACTION_MARKER;
    at = end;
  }
  return result + text.slice(at);
}

/**
 * Maps spans of a text to the text before the markers of earlier spans were inserted. A span that includes part of a
 * marker includes the secret that was there. Both lists are sorted.
 */
export function spansBefore(earlier: readonly Span[], spans: readonly Span[]): readonly Span[] {
  /** How much further left a position is now. */
  let shift = 0;
  let next = 0;
  /** Advances to the marker that ends after a position; returns the secret that contains the position. */
  const secretAt = (at: number): Span | undefined => {
    for (let each = earlier[next]; each !== undefined; each = earlier[++next]) {
      const start = each.start - shift;
      if (at < start + REDACTION_MARKER.length) return at > start ? each : undefined;
      shift += each.end - each.start - REDACTION_MARKER.length;
    }
    return undefined;
  };
  return spans.map((span) => {
    const start = secretAt(span.start)?.start ?? span.start + shift;
    const end = secretAt(span.end)?.end ?? span.end + shift;
    return { start, end };
  });
}
