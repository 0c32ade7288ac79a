import type { ErrorCode } from "@autonous/runtime";

/** Limits of a run (spec 4, The loop). Omitted: unlimited. */
export interface AgentLimits {
  /** Model rounds. */
  readonly max_turns: number;
  /** Working time in seconds. Waiting for a person does not count (spec 3). */
  readonly max_wall_time_seconds?: number;
  /** Input and output of the model, including failed attempts. Cache reads count by their share of the price. */
  readonly max_tokens?: number;
  /** In hundredths of the currency of the price table. */
  readonly max_cost_cents?: number;
}

/** Usage of a run so far. */
export interface RunUsage {
  readonly turns: number;
  readonly worked_ms: number;
  /** As billed. */
  readonly tokens: number;
  /** Tokens that do not count, because cache reads cost less. */
  readonly uncounted?: number;
  /** Undefined: unknown, because the model has no price. */
  readonly cost: number | undefined;
}

interface LimitRow {
  readonly limit: keyof AgentLimits;
  readonly setting: string;
  /** Error code that ends the run; it determines the exit code (spec 5). */
  readonly code: ErrorCode;
  used(used: RunUsage): number;
}

/** Every limit and its setting. */
// oxfmt-ignore
const LIMITS: readonly LimitRow[] = [
  { limit: "max_turns",             setting: "AUTONOUS_MAX_TURNS",             code: "LimitReached", used: ({ turns }) => turns },
  { limit: "max_wall_time_seconds", setting: "AUTONOUS_MAX_WALL_TIME_SECONDS", code: "Timeout",      used: ({ worked_ms }) => worked_ms / 1000 },
  { limit: "max_tokens",            setting: "AUTONOUS_MAX_TOKENS",            code: "LimitReached", used: ({ tokens }) => tokens },
  { limit: "max_cost_cents",        setting: "AUTONOUS_MAX_COST_CENTS",        code: "LimitReached", used: ({ cost = Number.NaN }) => cost * 100 },
];

export interface ReachedLimit {
  readonly code: ErrorCode;
  readonly message: string;
}

/** Why the model is not asked again, if a limit is reached. A limit or usage that is not a number counts as reached. */
export function reachedLimit(limits: AgentLimits, used: RunUsage): ReachedLimit | undefined {
  const row = LIMITS.find(({ limit, used: of }) => {
    const most = limits[limit];
    return most !== undefined && !(of(used) < most);
  });
  return row && { code: row.code, message: `${stoppedBy(row, limits)}, and ${usedText(row, used)}` };
}

/** Why a failed attempt is not repeated: another one would exceed a limit. */
export function exceededBy(
  limits: AgentLimits,
  used: RunUsage,
  attempt: Pick<RunUsage, "tokens" | "cost">,
): ReachedLimit | undefined {
  const then = { ...used, tokens: used.tokens + attempt.tokens, cost: (used.cost ?? NaN) + (attempt.cost ?? NaN) };
  const row = LIMITS.find(({ limit, used: of }) => {
    const most = limits[limit];
    return most !== undefined && !(of(then) <= most);
  });
  if (row === undefined) return undefined;
  const more = row.used(then) - row.used(used);
  const next = Number.isNaN(more) ? "" : `; the model did not answer, and a retry takes about ${round(more)} more`;
  return { code: row.code, message: `${stoppedBy(row, limits)}, and ${usedText(row, used)}${next}` };
}

function stoppedBy({ limit, setting }: LimitRow, limits: AgentLimits): string {
  return `Stopped: the limit ${limit} (${setting}) is ${limits[limit]}`;
}

function usedText(row: LimitRow, used: RunUsage): string {
  const amount = row.used(used);
  if (Number.isNaN(amount)) return "usage is unknown: the model has no price; add one under prices in config.json";
  const { uncounted = 0 } = used;
  const cached = row.limit === "max_tokens" && uncounted > 0;
  return `${round(amount)} are used${cached ? ` (cache reads count by their price: ${uncounted} tokens fewer)` : ""}`;
}

/** Remaining working time. */
export function remainingMs(
  { max_wall_time_seconds }: AgentLimits,
  { worked_ms }: Pick<RunUsage, "worked_ms">,
): number {
  return max_wall_time_seconds === undefined ? Number.POSITIVE_INFINITY : max_wall_time_seconds * 1000 - worked_ms;
}

function round(amount: number): number {
  return Math.round(amount * 10) / 10;
}
