import type { RuntimeEvent } from "@autonous/runtime";
import type { ModelProvider, ModelUsage } from "../../model/provider.ts";
import { billedTokens } from "../../model/prices/prices.ts";
import type { AgentLimits, ReachedLimit, RunUsage } from "./limits.ts";
import { exceededBy, reachedLimit, remainingMs } from "./limits.ts";
import type { AgentOptions } from "../agent-run.ts";
import { waitedMs } from "./wall-time.ts";

/** What a run has used of the model. */
export interface Totals {
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cached_input_tokens: number;
  /** In the currency of the price table. Null: the model has no price. */
  readonly cost: number | null;
}

const NOTHING: Totals = { input_tokens: 0, output_tokens: 0, cached_input_tokens: 0, cost: 0 };
/** The longest that a timer can wait. */
export const MAX_TIMER_MS = 2_147_483_647;
/** A shorter round of calls is not looked through for somebody who was waited for. */
const MIN_WAIT_MS = 1000;

/** Counts what a run uses, and says when that is too much. */
export class Meter {
  readonly #options: AgentOptions;
  readonly #clock: () => number;
  readonly #beganMs: number;
  /** Worked before this process took the run up. */
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

  /** What a model has used, as its record has it. */
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

  /** What the price table says of it; null where it does not know the model. */
  costOf(usage: ModelUsage, { name, wants_all_tools }: ModelProvider): number | null {
    if (wants_all_tools === true) return 0; // there is no model
    return this.#options.costOf?.(usage, name) ?? null;
  }

  /** Tokens as they count against limits and quotas. */
  billed(usage: ModelUsage, model: string): number {
    return this.#options.billedTokens?.(usage, model) ?? billedTokens(model, usage);
  }

  /** An attempt after one that failed is counted from zero. */
  reset(): void {
    this.#totals = NOTHING;
    this.#billed = 0;
  }

  seen(seq: number | undefined): void {
    this.#lastSeq = seq ?? this.#lastSeq;
  }

  /**
   * Does what may have a person asked, and does not count how long they took. The signal is aborted when the time of the
   * run is over.
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

  /** Looks when the time would be over, and where a person was waited for meanwhile, again when it is then. */
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

  /** Why an attempt that used this much is not repeated. What it put into the provider's cache is read from there then. */
  exceededBy(usage: ModelUsage, provider: ModelProvider): ReachedLimit | undefined {
    const { input_tokens, cached_input_tokens = 0, cache_write_tokens = 0 } = usage;
    const again = { input_tokens, output_tokens: 0, cached_input_tokens: cached_input_tokens + cache_write_tokens };
    const attempt = { tokens: this.billed(again, provider.name), cost: this.costOf(again, provider) ?? undefined };
    return exceededBy(this.#limits, this.#used(0, provider), attempt);
  }

  /** Whether a limit on the cost can be kept with the model. */
  canPay(provider: ModelProvider): boolean {
    return this.#limits.max_cost_cents === undefined || this.costOf(NOTHING, provider) !== null;
  }

  #used(turns: number, provider: ModelProvider): RunUsage {
    const { input_tokens, output_tokens, cost } = this.#totals;
    const uncounted = input_tokens + output_tokens - this.#billed;
    const known = this.canPay(provider) && cost !== null ? cost : undefined;
    return { turns, worked_ms: this.#workedMs, tokens: this.#billed, uncounted, cost: known };
  }

  /** How long the run may work from now on. */
  get remainingMs(): number {
    return remainingMs(this.#limits, { worked_ms: this.#workedMs });
  }
}
