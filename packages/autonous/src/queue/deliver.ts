import type { Store } from "../store/store.ts";
import type { Commander } from "./commander.ts";

export interface DeliverOptions {
  readonly store: Store;
  readonly commanders: readonly Commander[];
}

const A_ROUND = 100;

interface Delivered {
  /** How many replies the channels took. */
  readonly sent: number;
  /** Why others were not taken. They are tried again at the next round. */
  readonly problems: readonly unknown[];
}

/** Sends what waits in the outbox, in order within each chat. */
export async function deliver({ store, commanders }: DeliverOptions): Promise<Delivered> {
  let sent = 0;
  const problems: unknown[] = [];
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
        problems.push(problem);
      }
    }
  }
  return { sent, problems };
}
