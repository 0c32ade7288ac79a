import type { BreakerState } from "../model/failures/circuit-breaker.ts";
import { isObject, parseKept } from "../store/sqlite/kept-json.ts";
import type { KeyValues } from "../store/store.ts";

const KEY = "breakers";

interface BreakerBoardOptions {
  readonly kv: Pick<KeyValues, "get" | "set">;
  /** Told when they cannot be written down. */
  readonly log: (line: string) => void;
}

/** The circuit breakers of the worker that runs now, kept where `doctor` finds them. */
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

  /** The worker is gone, and what it had found out with it. */
  clear(): void {
    this.#breakers.clear();
    this.#write();
  }

  /** When everything is written down. */
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
      .catch((error: unknown) => log(`The state of the circuit breakers cannot be kept: ${(error as Error).message}`));
  }
}

/** As the service wrote them down last. They mean something only while it runs. */
export async function readBreakers(kv: Pick<KeyValues, "get">): Promise<readonly BreakerState[]> {
  // If damaged, none are known: the service writes them again with the next change.
  return parseKept((await kv.get(KEY)) ?? "[]", areBreakers) ?? [];
}

function areBreakers(value: unknown): value is readonly BreakerState[] {
  return Array.isArray(value) && value.every(isObject);
}
