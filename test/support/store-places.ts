/** Every store there is: the tests of what a store promises run for each. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../../packages/autonous/src/store/open-store.ts";
import type { Store } from "../../packages/autonous/src/store/store.ts";

/** A place for one database. `open` gives one more connection to it; `remove` comes after all are closed. */
interface StorePlace {
  open(clock: () => number): Promise<Store>;
  remove(): void;
}

interface StoreKind {
  readonly name: string;
  readonly makePlace: () => StorePlace;
}

export const STORE_KINDS: readonly StoreKind[] = [{ name: "SQLite", makePlace: makeSqlitePlace }];

function makeSqlitePlace(): StorePlace {
  const folder = mkdtempSync(join(tmpdir(), "store-"));
  return {
    open: (clock) => openStore({ file: join(folder, "autonous.db"), clock }),
    remove: () => rmSync(folder, { recursive: true }),
  };
}

export const START_MS: number = Date.UTC(2030, 0, 1);

/** One database under a clock that only the test moves. */
export class ScratchStore {
  now: number = START_MS;
  readonly #place: StorePlace;
  readonly #stores: Store[] = [];

  constructor({ makePlace }: StoreKind) {
    this.#place = makePlace();
  }

  async open(): Promise<Store> {
    const store = await this.#place.open(() => this.now);
    this.#stores.push(store);
    return store;
  }

  async close(): Promise<void> {
    for (const store of this.#stores) await store.close();
    this.#place.remove();
  }
}
