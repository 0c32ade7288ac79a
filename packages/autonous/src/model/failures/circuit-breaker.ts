/**
 * closed     calls pass; consecutive failures are counted          -> open, after `threshold` failures
 * open       calls are refused until `retry_at`                    -> half_open, by the first call after that
 * half_open  one trial call passes, all others are refused         -> closed on success, else open for longer
 */
type BreakerStateName = "closed" | "open" | "half_open";

export interface BreakerState {
  /** Host and model. */
  readonly provider: string;
  readonly state: BreakerStateName;
  readonly failures_in_a_row: number;
  /** If open: when the next call may pass. */
  readonly retry_at?: number;
}

export interface BreakerOptions {
  /** Consecutive failures that open it. */
  readonly threshold: number;
  /** How long it stays open at first; each failed trial doubles it. */
  readonly cooldown_ms: number;
  readonly longest_ms: number;
  readonly clock: () => number;
  /** Called when it opens, closes, or starts a trial call. */
  readonly onChange?: (state: BreakerState) => void;
}

/** The threshold equals the attempts of one round: a round in which all attempts fail opens it. */
const BREAKER: Omit<BreakerOptions, "clock" | "onChange"> = { threshold: 5, cooldown_ms: 15_000, longest_ms: 300_000 };

/** Outcome of a call: `failed` only if the server is to blame; `abandoned` does not count. */
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

  /** Lets a call pass, which must be settled once, or returns when to try again. */
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
    // Late results of calls that passed before it opened do not extend the time.
    if (!isTrial && (this.#retryAt !== undefined || this.#failures < this.#options.threshold)) return;
    const { cooldown_ms, longest_ms, clock } = this.#options;
    this.#retryAt = clock() + Math.min(longest_ms, cooldown_ms * 2 ** Math.min(this.#openings, 30));
    this.#openings += 1;
  }
}

const breakers = new Map<string, CircuitBreaker>();
let watcher: ((state: BreakerState) => void) | undefined;

/** Registers the listener for changes of all breakers in this process; replaces the previous one. */
export function watchBreakers(onChange: (state: BreakerState) => void): void {
  watcher = onChange;
}

/** The breaker of a provider, shared by all runs in this process. */
export function breakerFor(provider: string): CircuitBreaker {
  const known = breakers.get(provider);
  if (known !== undefined) return known;
  const onChange = (state: BreakerState): void => watcher?.(state);
  const made = new CircuitBreaker(provider, { ...BREAKER, clock: Date.now, onChange });
  breakers.set(provider, made);
  return made;
}

/** State of every provider that this process has used. */
export function breakerState(): readonly BreakerState[] {
  return [...breakers.values()].map((each) => each.state);
}
