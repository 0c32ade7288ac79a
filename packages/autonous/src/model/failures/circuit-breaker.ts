/**
 * closed     calls go through; failures in a row are counted       -> open, when there are too many
 * open       nothing goes through until `retry_at`                 -> half_open, by the first call after it
 * half_open  one call is on trial, all others are refused          -> closed if it does well, else open for longer
 */
type BreakerStateName = "closed" | "open" | "half_open";

export interface BreakerState {
  /** Host and model. */
  readonly provider: string;
  readonly state: BreakerStateName;
  readonly failures_in_a_row: number;
  /** Of an open one: when the next call is let through. */
  readonly retry_at?: number;
}

export interface BreakerOptions {
  /** Failures in a row that open it. */
  readonly threshold: number;
  /** How long it stays open at first; each trial that fails doubles it. */
  readonly cooldown_ms: number;
  readonly longest_ms: number;
  readonly clock: () => number;
  /** Told when it opens, closes, or lets a call through on trial. */
  readonly onChange?: (state: BreakerState) => void;
}

/** As many as one round of retries makes: a round that failed throughout opens it. */
const BREAKER: Omit<BreakerOptions, "clock" | "onChange"> = { threshold: 5, cooldown_ms: 15_000, longest_ms: 300_000 };

/** What came of a call: `failed` only where the server is to blame; `abandoned` says nothing about it. */
type BreakerOutcome = "ok" | "failed" | "abandoned";

interface Passage {
  settle(outcome: BreakerOutcome): void;
}

export class CircuitBreaker {
  readonly #provider: string;
  readonly #options: BreakerOptions;
  #failures = 0;
  #openings = 0;
  #retryAt: number | undefined;
  #isTrying = false;

  constructor(provider: string, options: BreakerOptions) {
    this.#provider = provider;
    this.#options = options;
  }

  get state(): BreakerState {
    const about = { provider: this.#provider, failures_in_a_row: this.#failures };
    if (this.#retryAt === undefined) return { ...about, state: "closed" };
    return { ...about, state: this.#isTrying ? "half_open" : "open", retry_at: this.#retryAt };
  }

  /** Lets a call through, which has to be settled once, or says when to ask again. */
  enter(): Passage | { readonly retry_at: number } {
    if (this.#retryAt === undefined) return { settle: (outcome) => this.#settle(outcome, false) };
    const now = this.#options.clock();
    if (this.#isTrying || now < this.#retryAt) return { retry_at: Math.max(this.#retryAt, now) };
    this.#isTrying = true;
    this.#options.onChange?.(this.state);
    return { settle: (outcome) => this.#settle(outcome, true) };
  }

  #settle(outcome: BreakerOutcome, isTrial: boolean): void {
    const before = this.state;
    this.#count(outcome, isTrial);
    const { state, retry_at } = this.state;
    if (state !== before.state || retry_at !== before.retry_at) this.#options.onChange?.(this.state);
  }

  #count(outcome: BreakerOutcome, isTrial: boolean): void {
    if (isTrial) this.#isTrying = false;
    if (outcome === "abandoned") return;
    if (outcome === "ok") {
      this.#failures = 0;
      this.#openings = 0;
      this.#retryAt = undefined;
      return;
    }
    this.#failures += 1;
    // Calls that were let through before it opened come back late, and prolong nothing.
    if (!isTrial && (this.#retryAt !== undefined || this.#failures < this.#options.threshold)) return;
    const { cooldown_ms, longest_ms, clock } = this.#options;
    this.#retryAt = clock() + Math.min(longest_ms, cooldown_ms * 2 ** Math.min(this.#openings, 30));
    this.#openings += 1;
  }
}

const breakers = new Map<string, CircuitBreaker>();
let watcher: ((state: BreakerState) => void) | undefined;

/** Tells of every change of every breaker in this process, to whoever asked last. */
export function watchBreakers(onChange: (state: BreakerState) => void): void {
  watcher = onChange;
}

/** The one breaker of a provider in this process: all runs share what they find out about it. */
export function breakerFor(provider: string): CircuitBreaker {
  const known = breakers.get(provider);
  if (known !== undefined) return known;
  const onChange = (state: BreakerState): void => watcher?.(state);
  const made = new CircuitBreaker(provider, { ...BREAKER, clock: Date.now, onChange });
  breakers.set(provider, made);
  return made;
}

/** How it stands with every provider that this process has asked. */
export function breakerState(): readonly BreakerState[] {
  return [...breakers.values()].map((each) => each.state);
}
