import type { Store } from "../store/store.ts";
import type { Bell } from "./bell.ts";
import type { Commander } from "./commander.ts";
import { deliver } from "./deliver.ts";
import type { Mirror } from "./mirror.ts";
import { Troubles } from "./troubles.ts";

export interface FollowOptions {
  readonly store: Store;
  /** Rung when something was recorded; it is rung here when a reply went out. */
  readonly bell: Bell;
  readonly mirror: Mirror;
  readonly commanders: readonly Commander[];
  readonly log: (line: string) => void;
  /** Default: the time of day. */
  readonly clock?: () => number;
}

const LOOK_MS = 500;

/**
 * Sees to what follows a commit: replies are sent and the runs' files brought up to date, side by side, so that no
 * channel waits for another. Goes on until stopped, and then once more. What fails is told, and tried again.
 */
export async function followRecord(stopped: AbortSignal, options: FollowOptions): Promise<void> {
  const { store, bell, mirror, commanders, log, clock = Date.now } = options;
  const mirroring = telling(new Troubles("The files of the runs cannot follow the record", log));
  const sent = Promise.all(commanders.map((commander) => deliver(stopped, { store, commander, bell, log, clock })));
  while (!stopped.aborted) {
    const rung = bell.wait(LOOK_MS);
    await mirroring(() => mirror.catchUp());
    await rung;
  }
  await sent; // the last replies are on record too
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
