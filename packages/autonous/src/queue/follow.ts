import type { Store } from "../store/store.ts";
import type { Bell } from "./bell.ts";
import type { Commander } from "./commander.ts";
import { deliver } from "./deliver.ts";
import type { Mirror } from "./mirror.ts";
import { Troubles } from "./troubles.ts";

export interface FollowOptions {
  readonly store: Store;
  /** Rung when something was recorded; delivery rings it when a reply was sent. */
  readonly bell: Bell;
  readonly mirror: Mirror;
  readonly commanders: readonly Commander[];
  readonly log: (line: string) => void;
  /** Default: `Date.now`. */
  readonly clock?: () => number;
}

const LOOK_MS = 500;

/**
 * Processes new records: sends replies and updates the run files, in parallel, so that no channel waits for another.
 * Runs until stopped, with a last pass at the end. Failures are logged and retried.
 */
export async function followRecord(stopped: AbortSignal, options: FollowOptions): Promise<void> {
  const { store, bell, mirror, commanders, log, clock = Date.now } = options;
  const mirroring = telling(new Troubles("Cannot update the run files", log));
  const sent = Promise.all(commanders.map((commander) => deliver(stopped, { store, commander, bell, log, clock })));
  while (!stopped.aborted) {
    const rung = bell.wait(LOOK_MS);
    await mirroring(() => mirror.catchUp());
    await rung;
  }
  await sent; // so that the last replies are recorded before the last pass
  await mirroring(async () => {
    await mirror.catchUp();
    await mirror.save();
  });
}

function telling(troubles: Troubles): (work: () => Promise<void>) => Promise<void> {
  return async (work) => {
    try {
      await work();
      troubles.over("");
    } catch (error) {
      troubles.tell("", (error as Error).message);
    }
  };
}
