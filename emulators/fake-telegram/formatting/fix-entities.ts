/** What Telegram makes of entities that overlap: it does not refuse them, it drops or cuts them. */
import type { Entity } from "./formatted.ts";

/** More are not kept. */
const MAX_ENTITIES = 100;

const SPLITTABLE: ReadonlySet<string> = new Set(["bold", "italic", "underline", "strikethrough", "spoiler"]);
const QUOTES: ReadonlySet<string> = new Set(["blockquote", "expandable_blockquote"]);
const VERBATIM: ReadonlySet<string> = new Set(["pre", "code"]);

/** Which is the outer one of two at the same place: the lower number. */
// oxfmt-ignore
const PRIORITY: Readonly<Record<string, number>> = {
  blockquote: 0, expandable_blockquote: 0, pre: 10, code: 20, text_link: 49, text_mention: 49,
  bold: 90, italic: 91, underline: 92, strikethrough: 93, spoiler: 94, custom_emoji: 99,
};

/**
 * Code, links and the like lie beside each other, the first one wins; quotes do not nest; code has nothing in it but is
 * in quotes; bold and its kin are cut where they would cross something.
 */
export function fixEntities(given: readonly Entity[]): readonly Entity[] {
  const sorted = given.filter(({ length }) => length > 0).toSorted(outerFirst);
  const quotes = withoutOverlap(sorted.filter(({ type }) => QUOTES.has(type)));
  const solid = withoutOverlap(sorted.filter(({ type }) => !QUOTES.has(type) && !SPLITTABLE.has(type)));
  const frame = [...quotes, ...solid.filter((entity) => quotes.every((quote) => isInsideOrBeside(entity, quote)))];
  const styled = sorted.filter(({ type }) => SPLITTABLE.has(type));
  const cut = merged(styled).flatMap((entity) => cutAt(entity, frame));
  return [...frame, ...uncrossed(cut)].toSorted(outerFirst).slice(0, MAX_ENTITIES);
}

function outerFirst(one: Entity, other: Entity): number {
  return (
    one.offset - other.offset || other.length - one.length || (PRIORITY[one.type] ?? 50) - (PRIORITY[other.type] ?? 50)
  );
}

function endOf({ offset, length }: Entity): number {
  return offset + length;
}

function withoutOverlap(sorted: readonly Entity[]): readonly Entity[] {
  let end = 0;
  return sorted.filter((entity) => {
    if (entity.offset < end) return false;
    end = endOf(entity);
    return true;
  });
}

function isInsideOrBeside(entity: Entity, quote: Entity): boolean {
  const isBeside = endOf(entity) <= quote.offset || entity.offset >= endOf(quote);
  return isBeside || (entity.offset >= quote.offset && endOf(entity) <= endOf(quote));
}

/** Those of the same type that overlap or touch become one. */
function merged(styled: readonly Entity[]): readonly Entity[] {
  const result: Entity[] = [];
  for (const entity of styled) {
    const at = result.findLastIndex(({ type }) => type === entity.type);
    const before = result[at];
    if (before === undefined || entity.offset > endOf(before)) result.push(entity);
    else result[at] = { ...before, length: Math.max(endOf(before), endOf(entity)) - before.offset };
  }
  return result;
}

/** Nothing of it is left in code; at the borders of the others it is cut, so that it lies inside or around. */
function cutAt(entity: Entity, frame: readonly Entity[]): readonly Entity[] {
  let pieces: readonly Entity[] = [entity];
  for (const other of frame) {
    pieces = pieces.flatMap((piece) => {
      const isApart = endOf(other) <= piece.offset || other.offset >= endOf(piece);
      if (isApart) return [piece];
      const isAround = piece.offset <= other.offset && endOf(piece) >= endOf(other);
      const isInside = piece.offset >= other.offset && endOf(piece) <= endOf(other);
      if (!VERBATIM.has(other.type) && (isAround || isInside)) return [piece];
      const parts = slices(piece, [other.offset, endOf(other)]);
      return VERBATIM.has(other.type)
        ? parts.filter((part) => endOf(part) <= other.offset || part.offset >= endOf(other))
        : parts;
    });
  }
  return pieces;
}

function slices(entity: Entity, borders: readonly number[]): readonly Entity[] {
  const inside = borders.filter((at) => at > entity.offset && at < endOf(entity));
  const starts = [entity.offset, ...inside];
  return starts.map((offset, index) => ({
    ...entity,
    offset,
    length: (starts[index + 1] ?? endOf(entity)) - offset,
  }));
}

/** Of two that cross, the later one is cut at the end of the first. */
function uncrossed(styled: readonly Entity[]): readonly Entity[] {
  const result: Entity[] = [];
  for (const entity of styled.toSorted(outerFirst)) {
    const crossed = result.filter((other) => entity.offset < endOf(other) && endOf(entity) > endOf(other));
    result.push(
      ...slices(
        entity,
        crossed.map(endOf).toSorted((one, other) => one - other),
      ),
    );
  }
  return result;
}
