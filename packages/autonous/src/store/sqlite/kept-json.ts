import { StoreError } from "../store-error.ts";

/** Parses a value stored as JSON; undefined if it is not valid JSON or has the wrong shape. */
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

/** A row that was changed from outside or damaged: only operations that depend on it fail, with this message. */
export function damagedRow(doing: string, row: string): StoreError {
  return new StoreError("DamagedRow", { doing, why: `${row} is not valid` });
}
