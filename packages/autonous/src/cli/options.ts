import { UsageError } from "./command.ts";
import type { CommandInput } from "./command.ts";

const MOST = 100_000;

/** A whole number from the command line. */
export function readLimit(given: CommandInput["options"][string], fallback: number): number {
  if (given === undefined) return fallback;
  const value = Number(given);
  if (Number.isInteger(value) && value >= 1 && value <= MOST) return value;
  throw new UsageError(`"${String(given)}" is no whole number from 1 to ${MOST}`);
}
