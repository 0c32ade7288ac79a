import { spend } from "./scope.ts";
import type { Scope } from "./scope.ts";

/** A text with each match replaced; the result may be far longer, and its cost is counted. */
export function replaceEach(text: string, { part, by }: { part: string; by: string }, scope: Scope): string {
  const pieces = text.split(part);
  spend(scope, text.length + (pieces.length - 1) * by.length);
  return pieces.join(by);
}
