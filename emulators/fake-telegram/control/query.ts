/** What the addresses for people take behind the question mark. */
import { badRequest, Refusal } from "../refusal.ts";

export function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === "") return undefined;
  if (!/^-?\d+$/.test(text)) throw badRequest(`${name} is a number, not "${text}"`);
  return Number(text);
}

export function neededNumber(query: URLSearchParams, name: string): number {
  const value = numberIn(query, name);
  if (value === undefined) throw badRequest(`${name} is missing: ?${name}=…`);
  return value;
}

/** Those of the names that are there, as they are. */
export function textsIn<Name extends string>(
  query: URLSearchParams,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const given = names.flatMap((name) => (query.has(name) ? [[name, query.get(name) ?? ""]] : []));
  return Object.fromEntries(given) as Partial<Record<Name, string>>;
}

export function numbersIn<Name extends string>(
  query: URLSearchParams,
  names: readonly Name[],
): Partial<Record<Name, number>> {
  const given = names.flatMap((name) => {
    const value = numberIn(query, name);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(given) as Partial<Record<Name, number>>;
}

/** Answers 400 with the reason where the act is not possible. */
export function byHand<Result>(act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    throw error instanceof Error && !(error instanceof Refusal) ? badRequest(error.message) : error;
  }
}
