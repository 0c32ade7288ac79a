import { UsageError } from "./command.ts";
import type { CommandInput } from "./command.ts";

const MOST = 100_000;

/** A whole number from the command line. */
export function readLimit(given: CommandInput["options"][string], fallback: number): number {
  if (given === undefined) return fallback;
  const text = String(given);
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= MOST) return value;
  throw new UsageError(`"${text}" is no whole number from 1 to ${MOST}`);
}
