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

/**
 * Where spans of a text lay before the markers of earlier spans were put in. One that has a part of a marker in it has
 * the secret that was there in it. Both are in order.
 */
export function spansBefore(earlier: readonly Span[], spans: readonly Span[]): readonly Span[] {
  /** How much further left a place is now. */
  let shift = 0;
  let next = 0;
  /** Goes on to the marker that ends behind a place; gives the secret that the place lies in. */
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
