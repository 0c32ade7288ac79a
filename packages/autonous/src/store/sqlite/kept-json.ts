import { StoreError } from "../store-error.ts";

/** A value that the store kept as JSON; undefined where it is not valid JSON, or not of the shape that is kept there. */
export function parseKept<T>(text: string, isValid: (value: unknown) => value is T): T | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return isValid(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A row that was changed from outside or damaged: what depends on it fails with a message, and nothing else does. */
export function damagedRow(doing: string, row: string): StoreError {
  return new StoreError("DamagedRow", { doing, why: `${row} is not valid` });
}
