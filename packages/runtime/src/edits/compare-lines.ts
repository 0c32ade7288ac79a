/** Lines of one text that replace lines of another. */
export interface Change {
  readonly old: Span;
  readonly new: Span;
}

/** From index `from` up to index `to`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

type DiffArrays = typeof import("diff").diffArrays;

/**
 * Up to this many different lines the minimal diff is computed, which takes quadratic time. Limits are in lines and not
 * in time, so that the same texts give the same diff on every machine.
 */
const MAX_CHANGES = 500;
const MAX_CHANGES_BETWEEN = 200;
/** A last resort for texts that are slow for other reasons. */
const TIMEOUT_MS = 300;

/**
 * The changes from one list of lines to another, in order. Takes bounded time; if a limit is reached, the diff is
 * larger than necessary.
 */
export async function compareLines(oldLines: readonly string[], newLines: readonly string[]): Promise<Change[]> {
  const { diffArrays } = await import("diff");
  const ids = new Map<string, number>();
  const [old, renewed] = [toNumbers(oldLines, ids), toNumbers(newLines, ids)];
  const whole = { old: { from: 0, to: old.length }, new: { from: 0, to: renewed.length } };
  const lists = { old, renewed, diffArrays };
  return compareSpans(whole, lists, MAX_CHANGES) ?? compareBetween(commonLines(old, renewed, ids.size), lists);
}

interface Lists {
  readonly old: readonly number[];
  readonly renewed: readonly number[];
  readonly diffArrays: DiffArrays;
}

function toNumbers(lines: readonly string[], ids: Map<string, number>): number[] {
  return lines.map((line) => {
    const id = ids.get(line) ?? ids.size;
    ids.set(line, id);
    return id;
  });
}

/** The minimal diff of two parts; undefined if it is too large to compute. */
function compareSpans(part: Change, { old, renewed, diffArrays }: Lists, maxEditLength: number): Change[] | undefined {
  const options = { maxEditLength, timeout: TIMEOUT_MS };
  const pieces = diffArrays(old.slice(part.old.from, part.old.to), renewed.slice(part.new.from, part.new.to), options);
  if (pieces === undefined) return undefined;
  const changes: Change[] = [];
  let [oldAt, newAt] = [part.old.from, part.new.from];
  for (const { count, added, removed } of pieces) {
    const change = {
      old: { from: oldAt, to: oldAt + (added ? 0 : count) },
      new: { from: newAt, to: newAt + (removed ? 0 : count) },
    };
    if (added || removed) changes.push(change);
    [oldAt, newAt] = [change.old.to, change.new.to];
  }
  return changes;
}

/** Compares the parts between known common lines. */
function compareBetween(common: readonly (readonly [number, number])[], lists: Lists): Change[] {
  const changes: Change[] = [];
  let [oldAt, newAt] = [0, 0];
  for (const [old, renewed] of [...common, [lists.old.length, lists.renewed.length] as const]) {
    const part = { old: { from: oldAt, to: old }, new: { from: newAt, to: renewed } };
    if (old > oldAt || renewed > newAt) {
      for (const change of compareSpans(part, lists, MAX_CHANGES_BETWEEN) ?? [wholePart(part, lists)])
        changes.push(change);
    }
    [oldAt, newAt] = [old + 1, renewed + 1];
  }
  return changes;
}

/** A part without its common first and last lines. */
function wholePart({ old, new: renewed }: Change, lists: Lists): Change {
  const most = Math.min(old.to - old.from, renewed.to - renewed.from);
  let head = 0;
  while (head < most && lists.old[old.from + head] === lists.renewed[renewed.from + head]) head++;
  let tail = 0;
  while (tail < most - head && lists.old[old.to - 1 - tail] === lists.renewed[renewed.to - 1 - tail]) tail++;
  return {
    old: { from: old.from + head, to: old.to - tail },
    new: { from: renewed.from + head, to: renewed.to - tail },
  };
}

/** Lines that occur exactly once on both sides, as many as are in the same order, as pairs of indices. */
function commonLines(old: readonly number[], renewed: readonly number[], ids: number): (readonly [number, number])[] {
  const [oldPlaces, newPlaces] = [placesOf(old, ids), placesOf(renewed, ids)];
  const pairs: (readonly [number, number])[] = [];
  for (const [index, id] of old.entries()) {
    const place = newPlaces[id] ?? ABSENT;
    if (oldPlaces[id] === index && place >= 0) pairs.push([index, place]);
  }
  return longestAscending(pairs);
}

const ABSENT = -1;
const REPEATED = -2;

/** The position of each line that occurs exactly once. */
function placesOf(lines: readonly number[], ids: number): Int32Array {
  const places = new Int32Array(ids).fill(ABSENT);
  for (const [index, id] of lines.entries()) places[id] = places[id] === ABSENT ? index : REPEATED;
  return places;
}

/** The longest subsequence of pairs with ascending second numbers (the first ones ascend already): patience sorting. */
function longestAscending(pairs: readonly (readonly [number, number])[]): (readonly [number, number])[] {
  const tops: number[] = []; // by length: the pair with the smallest second number that ends one of that length
  const previous = new Int32Array(pairs.length).fill(ABSENT);
  for (const [index, [, second]] of pairs.entries()) {
    let [low, high] = [0, tops.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[tops[middle] ?? 0]?.[1] ?? 0) < second) low = middle + 1;
      else high = middle;
    }
    previous[index] = tops[low - 1] ?? ABSENT;
    tops[low] = index;
  }
  const chosen: (readonly [number, number])[] = [];
  for (let at = tops.at(-1) ?? ABSENT; at >= 0; at = previous[at] ?? ABSENT) {
    const pair = pairs[at];
    if (pair !== undefined) chosen.push(pair);
  }
  return chosen.reverse();
}
