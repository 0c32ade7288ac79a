import type { BreakerState } from "../model/failures/circuit-breaker.ts";
import { isObject, parseKept } from "../store/sqlite/kept-json.ts";
import type { KeyValues } from "../store/store.ts";

const KEY = "breakers";

interface BreakerBoardOptions {
  readonly kv: Pick<KeyValues, "get" | "set">;
  /** Called when the states cannot be stored. */
  readonly log: (line: string) => void;
}

/** The circuit breakers of the worker that runs now, stored so that `doctor` can read them. */
export class BreakerBoard {
  readonly #options: BreakerBoardOptions;
  readonly #breakers = new Map<string, BreakerState>();
  #written: Promise<void> = Promise.resolve();

  constructor(options: BreakerBoardOptions) {
    this.#options = options;
  }

  get all(): readonly BreakerState[] {
    return [...this.#breakers.values()];
  }

  put(breaker: BreakerState): void {
    this.#breakers.set(breaker.provider, breaker);
    this.#write();
  }

  /** Called when the worker has exited: its breakers are gone too. */
  clear(): void {
    this.#breakers.clear();
    this.#write();
  }

  /** Resolves once everything is stored. */
  async close(): Promise<void> {
    await this.#written;
  }

  #write(): void {
    const { kv, log } = this.#options;
    const text = JSON.stringify(this.all);
    this.#written = this.#written
      .then(async () => {
        if ((await kv.get(KEY)) !== text) await kv.set(KEY, text);
      })
      .catch((error: unknown) => log(`Cannot store the state of the circuit breakers: ${(error as Error).message}`));
  }
}

/** The states that the service stored last. Meaningful only while it runs. */
export async function readBreakers(kv: Pick<KeyValues, "get">): Promise<readonly BreakerState[]> {
  // If damaged, none are known: the service writes them again with the next change.
  return parseKept((await kv.get(KEY)) ?? "[]", areBreakers) ?? [];
}

function areBreakers(value: unknown): value is readonly BreakerState[] {
  return Array.isArray(value) && value.every(isObject);
}
