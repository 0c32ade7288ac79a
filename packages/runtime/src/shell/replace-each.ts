import { spend } from "./scope.ts";
import type { Scope } from "./scope.ts";

/** A text with each of its parts of one kind replaced; what comes of it may be far longer, and is paid for. */
export function replaceEach(text: string, { part, by }: { part: string; by: string }, scope: Scope): string {
  const pieces = text.split(part);
  spend(scope, text.length + (pieces.length - 1) * by.length);
  return pieces.join(by);
}
