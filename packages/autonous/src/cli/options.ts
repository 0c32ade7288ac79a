import { UsageError } from "./command.ts";
import type { CommandInput } from "./command.ts";
import type { AgentLimits } from "../agent/usage/limits.ts";
import { SETTINGS } from "../config/settings.ts";
import type { Settings } from "../config/settings.ts";
import { limitsOf } from "../workplace/workplace.ts";

const MAX = 100_000;

/** A whole number from the command line. */
export function readLimit(given: OptionValue, fallback: number, max = MAX): number {
  if (given === undefined) return fallback;
  const text = String(given);
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= max) return value;
  throw new UsageError(`Invalid number "${text}" (a whole number from 1 to ${max})`);
}

type OptionValue = CommandInput["options"][string];

/** The limits of a task: from the command line, else from the configuration. */
export function readLimits(options: CommandInput["options"], settings: Settings): AgentLimits {
  const configured = limitsOf(settings);
  const max_cost_cents = readCents(options["maxCost"]) ?? configured.max_cost_cents;
  return {
    max_turns: readLimit(options["maxTurns"], configured.max_turns, SETTINGS.max_turns.kind.max),
    max_wall_time_seconds: readSeconds(options["maxWallTime"]) ?? configured.max_wall_time_seconds,
    max_tokens: readLimit(options["maxTokens"], configured.max_tokens, SETTINGS.max_tokens.kind.max),
    ...(max_cost_cents === undefined ? {} : { max_cost_cents }),
  };
}

/** `2.50` is 250 hundredths. */
function readCents(given: OptionValue): number | undefined {
  if (given === undefined) return undefined;
  const text = String(given);
  const cents = Math.round(Number(text) * 100);
  if (/^\d+(\.\d{1,2})?$/.test(text) && cents >= 1 && cents <= SETTINGS.max_cost_cents.kind.max) return cents;
  throw new UsageError(`Invalid amount "${text}" (example: 2.50)`);
}

const UNITS: Readonly<Record<string, number>> = { "": 1, s: 1, m: 60, h: 3600 };

/** `90`, `90s`, `15m` or `2h`. */
function readSeconds(given: OptionValue): number | undefined {
  if (given === undefined) return undefined;
  const text = String(given);
  const [, number, unit = ""] = /^(\d{1,9})([smh]?)$/.exec(text) ?? [];
  const seconds = Number(number) * (UNITS[unit] ?? Number.NaN);
  if (seconds >= 1 && seconds <= SETTINGS.max_wall_time_seconds.kind.max) return seconds;
  throw new UsageError(`Invalid duration "${text}" (examples: 90s, 15m, 2h)`);
}
