export type Json = Readonly<Record<string, unknown>>;

export function isRecord(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The value if it is a record, else an empty record. */
export function recordOf(value: unknown): Json {
  return isRecord(value) ? value : {};
}

export function objectOf(value: unknown): Json | undefined {
  return isRecord(value) ? value : undefined;
}

export function recordsOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Larger than any real token count: such numbers would distort sums. */
const MAX_NUMBER = 1e12;

/** A count; some servers write it as text. */
export function countOf(value: unknown): number | undefined {
  const number = typeof value === "string" && /^\d{1,12}$/.test(value) ? Number(value) : value;
  return Number.isInteger(number) && Number(number) >= 0 && Number(number) <= MAX_NUMBER ? Number(number) : undefined;
}

/** Undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // the caller handles it
  }
}

/** Arguments of a call as JSON text, from text or a value. */
export function argumentsText(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}
