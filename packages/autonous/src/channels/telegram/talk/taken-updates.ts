import { parseKept } from "../../../store/sqlite/kept-json.ts";
import type { Store } from "../../../store/store.ts";

/** More than Telegram delivers again after a kill: a batch of 100, or the largest backlog. */
const MAX_KEPT = 1000;

type Taken = readonly (readonly [update_id: number, what: string])[];

/**
 * What messages were taken for. After a kill Telegram delivers its last batch again, all of it: each message then has to
 * reach what it reached before.
 */
export class TakenUpdates {
  readonly #store: Pick<Store, "kv">;
  readonly #key: string;

  constructor(store: Pick<Store, "kv">, key: string) {
    this.#store = store;
    this.#key = key;
  }

  async find(update_id: number): Promise<string | undefined> {
    return (await this.#read()).find(([id]) => id === update_id)?.[1];
  }

  async keep(update_id: number, what: string): Promise<void> {
    const others = (await this.#read()).filter(([id]) => id !== update_id);
    await this.#store.kv.set(this.#key, JSON.stringify([...others, [update_id, what]].slice(-MAX_KEPT)));
  }

  async #read(): Promise<Taken> {
    const text = (await this.#store.kv.get(this.#key)) ?? "[]";
    const [, id, what] = /^(\d+) (\S+)$/.exec(text) ?? []; // an older version kept the last one only
    if (id !== undefined && what !== undefined) return [[Number(id), what]];
    // If damaged, a message that is delivered again is read as a new one.
    return parseKept(text, areTaken) ?? [];
  }
}

function areTaken(value: unknown): value is Taken {
  const isTaken = (each: unknown): boolean =>
    Array.isArray(each) && Number.isSafeInteger(each[0]) && typeof each[1] === "string";
  return Array.isArray(value) && value.every(isTaken);
}
