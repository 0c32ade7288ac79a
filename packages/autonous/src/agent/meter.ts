import type { RuntimeEvent } from "@autonous/runtime";
import type { ModelUsage } from "../model/provider.ts";
import type { AgentLimits, ReachedLimit } from "./limits.ts";
import { reachedLimit, remainingMs } from "./limits.ts";
import type { AgentOptions } from "./run.ts";
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
/** A shorter round of calls is not looked through for somebody who was waited for. */
const SHORTEST_WAIT_MS = 1000;

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

  /** What a model round has used, as its record has it. */
  count(usage: ModelUsage, cost: number | null): void {
    const before = this.#totals;
    this.#totals = {
      input_tokens: before.input_tokens + usage.input_tokens,
      output_tokens: before.output_tokens + usage.output_tokens,
      cached_input_tokens: before.cached_input_tokens + (usage.cached_input_tokens ?? 0),
      cost: before.cost === null || cost === null ? null : before.cost + cost,
    };
  }

  /** What the price table says of it; null where it does not know the model. */
  costOf(usage: ModelUsage): number | null {
    if (this.#options.provider.wants_all_tools === true) return 0; // there is no model
    return this.#options.costOf?.(usage, this.#options.provider.name) ?? null;
  }

  /** An attempt after one that failed is counted anew. */
  reset(): void {
    this.#totals = NOTHING;
  }

  seen(seq: number | undefined): void {
    this.#lastSeq = seq ?? this.#lastSeq;
  }

  /** Does what may have a person asked, and does not count how long they took. */
  async waiting<T>(work: () => Promise<T>): Promise<T> {
    const began = this.#clock();
    const done = await work();
    const isLong = this.#clock() - began >= SHORTEST_WAIT_MS;
    if (isLong && this.#limits.max_wall_time_seconds !== undefined) this.#waitedMs += waitedMs(await this.#newEvents());
    return done;
  }

  async #newEvents(): Promise<readonly RuntimeEvent[]> {
    const events: RuntimeEvent[] = [];
    for await (const event of this.#options.runtime.journal.read(this.#lastSeq)) events.push(event);
    return events;
  }

  reached(turns: number): ReachedLimit | undefined {
    const { input_tokens, output_tokens, cost } = this.#totals;
    const isPriced = this.#limits.max_cost_cents === undefined || this.costOf(NOTHING) !== null;
    const used = { turns, worked_ms: this.#workedMs, tokens: input_tokens + output_tokens };
    return reachedLimit(this.#limits, { ...used, cost: isPriced && cost !== null ? cost : undefined });
  }

  /** How long the run may work from now on. */
  get remainingMs(): number {
    return remainingMs(this.#limits, { worked_ms: this.#workedMs });
  }
}
