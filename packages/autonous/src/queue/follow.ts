import type { Store } from "../store/store.ts";
import type { Bell } from "./bell.ts";
import type { Commander } from "./commander.ts";
import { deliver } from "./deliver.ts";
import type { Mirror } from "./mirror.ts";

export interface FollowOptions {
  readonly store: Store;
  /** Rung when something was recorded; it is rung here when a reply went out. */
  readonly bell: Bell;
  readonly mirror: Mirror;
  readonly commanders: readonly Commander[];
  readonly log: (line: string) => void;
}

const LOOK_MS = 500;

/**
 * Sees to what follows a commit: replies are sent and the runs' files brought up to date. Goes on until stopped, and
 * then once more. What fails is told, and tried again at the next round.
 */
export async function followRecord(stopped: AbortSignal, options: FollowOptions): Promise<void> {
  const { store, bell, mirror, commanders, log } = options;
  const sending = tellingOnce("Replies cannot be sent", log);
  const mirroring = tellingOnce("The files of the runs cannot follow the record", log);
  for (;;) {
    const rung = bell.wait(LOOK_MS);
    const isLast = stopped.aborted;
    await sending(async () => {
      const { sent, problems } = await deliver({ store, commanders });
      if (sent > 0) bell.ring(); // who follows the task sees that its reply went out
      if (problems.length > 0) throw problems[0];
    });
    await mirroring(async () => {
      await mirror.catchUp();
      if (isLast) await mirror.save();
    });
    if (isLast) return;
    await rung;
  }
}

/** Does something again and again; says what is wrong when that changes, and when it is over. */
function tellingOnce(what: string, log: (line: string) => void): (work: () => Promise<void>) => Promise<void> {
  let told = "";
  return async (work) => {
    let problem = "";
    try {
      await work();
    } catch (error) {
      problem = (error as Error).message;
    }
    if (problem !== told) log(problem === "" ? `${what}: that is over` : `${what}: ${problem}`);
    told = problem;
  };
}
