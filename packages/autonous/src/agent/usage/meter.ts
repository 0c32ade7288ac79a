import type { RuntimeEvent } from "@autonous/runtime";
import type { ModelProvider, ModelUsage } from "../../model/provider.ts";
import { billedTokens } from "../../model/prices/prices.ts";
import type { AgentLimits, ReachedLimit, RunUsage } from "./limits.ts";
import { exceededBy, reachedLimit, remainingMs } from "./limits.ts";
import type { AgentOptions } from "../agent-run.ts";
import { waitedMs } from "./wall-time.ts";

/** Model usage of a run. */
export interface Totals {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_input_tokens: number;
  /** In the currency of the price table. Null: the model has no price. */
  readonly cost: number | null;
}

const NOTHING: Totals = { input_tokens: 0, output_tokens: 0, cached_input_tokens: 0, cost: 0 };
/** Maximum delay of a timer. */
export const MAX_TIMER_MS = 2_147_483_647;
/** Shorter rounds of calls are not searched for waits for a person. */
const MIN_WAIT_MS = 1000;

/** Counts the usage of a run and checks its limits. */
export class Meter {
  readonly #options: AgentOptions;
  readonly #clock: () => number;
  readonly #beganMs: number;
  /** Time worked by earlier processes. */
  readonly #earlierMs: number;
  #waitedMs = 0;
  #lastSeq = 0;
  #totals: Totals = NOTHING;
  /** Tokens as they count against the limit. */
  #billed = 0;

  constructor(options: AgentOptions, earlierMs: number) {
    this.#options = options;
    this.#clock = options.clock ?? Date.now;
    this.#beganMs = this.#clock();
    this.#earlierMs = earlierMs;
  }

  get totals(): Totals {
    return this.#totals;
  }

  get #workedMs(): number {
    return this.#earlierMs + this.#clock() - this.#beganMs - this.#waitedMs;
  }

  get #limits(): AgentLimits {
    return this.#options.limits;
  }

  /** Counts usage from a reply or from the record. */
  count(usage: ModelUsage, cost: number | null, model: string): void {
    const before = this.#totals;
    this.#billed += this.billed(usage, model);
    this.#totals = {
      input_tokens: before.input_tokens + usage.input_tokens,
      output_tokens: before.output_tokens + usage.output_tokens,
      cached_input_tokens: before.cached_input_tokens + (usage.cached_input_tokens ?? 0),
      cost: before.cost === null || cost === null ? null : before.cost + cost,
    };
  }

  /** Cost by the price table; null if the model is not in it. */
  costOf(usage: ModelUsage, { name, wants_all_tools }: ModelProvider): number | null {
    if (wants_all_tools === true) return 0; // not a real model
    return this.#options.costOf?.(usage, name) ?? null;
  }

  /** Tokens as they count against limits and quotas. */
  billed(usage: ModelUsage, model: string): number {
    return this.#options.billedTokens?.(usage, model) ?? billedTokens(model, usage);
  }

  /** A new attempt after a failed one is counted from zero. */
  reset(): void {
    this.#totals = NOTHING;
    this.#billed = 0;
  }

  seen(seq: number | undefined): void {
    this.#lastSeq = seq ?? this.#lastSeq;
  }

  /**
   * Runs work that may ask a person, and does not count the wait for the answer. The signal aborts when the run's time
   * is over.
   */
  async waiting<T>(work: (timeIsOver: AbortSignal) => Promise<T>): Promise<T> {
    const began = this.#clock();
    const over = new AbortController();
    const stopWatching = this.#watchTime(over);
    let done: T;
    try {
      done = await work(over.signal);
    } finally {
      stopWatching();
    }
    const isLong = this.#clock() - began >= MIN_WAIT_MS;
    if (isLong && this.#limits.max_wall_time_seconds !== undefined) this.#waitedMs += waitedMs(await this.#newEvents());
    return done;
  }

  /** Checks when the time would be over; if a person was waited for meanwhile, checks again later. */
  #watchTime(over: AbortController): () => void {
    if (this.#limits.max_wall_time_seconds === undefined) return () => undefined;
    let isWatched = true;
    let timer: NodeJS.Timeout | undefined;
    const lookIn = (delayMs: number): void => {
      timer = setTimeout(
        () => void look().catch((problem: unknown) => over.abort(problem)),
        Math.min(delayMs, MAX_TIMER_MS),
      );
    };
    const look = async (): Promise<void> => {
      const waited = waitedMs(await this.#newEvents(), this.#clock());
      if (!isWatched) return;
      const left = this.remainingMs + waited;
      if (left > 0) lookIn(left);
      else over.abort(new Error("The run timed out"));
    };
    lookIn(Math.max(0, this.remainingMs));
    return () => {
      isWatched = false;
      clearTimeout(timer);
    };
  }

  async #newEvents(): Promise<readonly RuntimeEvent[]> {
    const events: RuntimeEvent[] = [];
    for await (const event of this.#options.runtime.journal.read(this.#lastSeq)) events.push(event);
    return events;
  }

  reached(turns: number, provider: ModelProvider): ReachedLimit | undefined {
    return reachedLimit(this.#limits, this.#used(turns, provider));
  }

  /** Why an attempt with this usage is not repeated. Its cache writes become cache reads. */
  exceededBy(usage: ModelUsage, provider: ModelProvider): ReachedLimit | undefined {
    const { input_tokens, cached_input_tokens = 0, cache_write_tokens = 0 } = usage;
    const again = { input_tokens, output_tokens: 0, cached_input_tokens: cached_input_tokens + cache_write_tokens };
    const attempt = { tokens: this.billed(again, provider.name), cost: this.costOf(again, provider) ?? undefined };
    return exceededBy(this.#limits, this.#used(0, provider), attempt);
  }

  /** Whether a cost limit can be enforced for the model. */
  canPay(provider: ModelProvider): boolean {
    return this.#limits.max_cost_cents === undefined || this.costOf(NOTHING, provider) !== null;
  }

  #used(turns: number, provider: ModelProvider): RunUsage {
    const { input_tokens, output_tokens, cost } = this.#totals;
    const uncounted = input_tokens + output_tokens - this.#billed;
    const known = this.canPay(provider) && cost !== null ? cost : undefined;
    return { turns, worked_ms: this.#workedMs, tokens: this.#billed, uncounted, cost: known };
  }

  /** Remaining working time. */
  get remainingMs(): number {
    return remainingMs(this.#limits, { worked_ms: this.#workedMs });
  }
}
