import type { Store } from "../store/store.ts";
import type { Commander } from "./commander.ts";

export interface DeliverOptions {
  readonly store: Store;
  readonly commanders: readonly Commander[];
  /** Told of what could not be sent; it is tried again at the next round. */
  readonly onProblem: (problem: unknown) => void;
}

const A_ROUND = 100;

/** Sends what waits in the outbox, in order within each chat. Gives the number of replies that were taken. */
export async function deliver({ store, commanders, onProblem }: DeliverOptions): Promise<number> {
  let sent = 0;
  for (const commander of commanders) {
    const held = new Set<string>(); // chats whose earlier reply did not go out: the later ones wait for it
    for (const row of await store.outbox.pending({ limit: A_ROUND, channel: commander.channel })) {
      if (held.has(row.chat)) continue;
      try {
        await commander.send({ chat: row.chat, task_id: row.task_id, text: row.body });
        await store.outbox.markSent(row.id);
        sent++;
      } catch (problem) {
        held.add(row.chat);
        onProblem(problem);
      }
    }
  }
  return sent;
}
