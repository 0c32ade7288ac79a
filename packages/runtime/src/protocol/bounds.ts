/** How much of a value is kept. A count replaces the rest. */
export interface Bounds {
  /** Characters per string and per field name. */
  readonly characters: number;
  /** Entries per list and fields per object. */
  readonly entries: number;
  readonly depth: number;
  /** Total characters of all strings and names. */
  readonly total: number;
}

/** Limit for a message to people and models. */
const MESSAGE_CHARACTERS = 4096;

/** Limits for the details of a message. */
const DETAILS: Bounds = { characters: 2048, entries: 100, depth: 8, total: 16_384 };

/** Truncates a long text and says how much is missing. */
export function boundText(text: string, characters: number = MESSAGE_CHARACTERS): string {
  if (text.length <= characters) return text;
  const kept = text.slice(0, characters).toWellFormed();
  return `${kept}… (${grouped(text.length - characters)} more characters)`;
}

/** The first strings of a list, and how many more follow. */
export function boundList(texts: readonly string[], entries = 20, characters = 500): readonly string[] {
  const kept = texts.slice(0, entries).map((text) => boundText(text, characters));
  return texts.length > entries ? [...kept, moreThan(texts.length - entries)] : kept;
}

/**
 * JSON data with long strings, lists, objects and deep nesting truncated. Returns the same reference if nothing was
 * truncated.
 */
export function boundData(value: unknown, bounds: Bounds = DETAILS): unknown {
  return boundAt(value, { bounds, left: bounds.total }, 0);
}

interface Budget {
  readonly bounds: Bounds;
  left: number;
}

function boundAt(value: unknown, budget: Budget, depth: number): unknown {
  if (typeof value === "string") return takeText(value, budget);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= budget.bounds.depth) return "… (nested deeper)";
  return Array.isArray(value) ? boundItems(value, budget, depth) : boundFields(value, budget, depth);
}

function takeText(text: string, budget: Budget): string {
  const kept = boundText(text, Math.max(0, Math.min(budget.bounds.characters, budget.left)));
  budget.left -= Math.min(text.length, kept.length);
  return kept;
}

function boundItems(items: readonly unknown[], budget: Budget, depth: number): readonly unknown[] {
  const kept: unknown[] = [];
  let isChanged = false;
  for (const item of items) {
    if (kept.length >= budget.bounds.entries || budget.left <= 0) {
      return [...kept, moreThan(items.length - kept.length)];
    }
    const bounded = boundAt(item, budget, depth + 1);
    budget.left--;
    isChanged ||= bounded !== item;
    kept.push(bounded);
  }
  return isChanged ? kept : items;
}

function boundFields(object: object, budget: Budget, depth: number): object {
  const entries = Object.entries(object);
  const kept: [string, unknown][] = [];
  let isChanged = false;
  for (const [name, field] of entries) {
    if (kept.length >= budget.bounds.entries || budget.left <= 0) {
      kept.push(["…", moreThan(entries.length - kept.length)]);
      return Object.fromEntries(kept);
    }
    const shownName = takeText(name, budget);
    const bounded = boundAt(field, budget, depth + 1);
    isChanged ||= bounded !== field || shownName !== name;
    kept.push([shownName, bounded]);
  }
  return isChanged ? Object.fromEntries(kept) : object;
}

function moreThan(count: number): string {
  return `… and ${grouped(count)} more`;
}

/** `12,345`. `Intl` would take 10 ms to load. */
function grouped(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}
