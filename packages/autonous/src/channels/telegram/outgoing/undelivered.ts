import type { Store } from "../../../store/store.ts";
import { laneOf, personOf } from "../address.ts";
import type { Address } from "../address.ts";
import type { TelegramClient } from "../api/client.ts";
import { TakenUpdates } from "../talk/taken-updates.ts";
import { showPlain } from "./show.ts";

interface Parts {
  readonly store: Store;
  readonly client: TelegramClient;
}

/** Answers to this chat were not delivered. The next person who writes there is told. */
const KEY = "telegram:undelivered:";
const NOT_TOLD = "not told";
const RESENT = "telegram:resent";

export async function noteUndelivered(store: Store, lane: string): Promise<void> {
  await store.kv.set(`${KEY}${lane}`, NOT_TOLD);
}

/** Says once, in a chat that takes messages again, that answers are missing. Throws when the store does. */
export async function tellUndelivered(to: Address & { readonly text: string }, parts: Parts): Promise<void> {
  const { store, client } = parts;
  const lane = laneOf(to);
  if ((await store.kv.get(`${KEY}${lane}`)) !== NOT_TOLD || /^\/resend\b/i.test(to.text)) return;
  const count = await countAnswers(store, lane);
  if (count === 0) return; // the record is not written yet, or they were sent again by other means
  const what = count === 1 ? "1 answer or file was" : `${count} answers and files were`;
  showPlain(
    client,
    to,
    `${what} not delivered here, because this chat could not be reached. /resend sends them again.`,
  );
  await store.kv.set(`${KEY}${lane}`, "");
}

interface Resending extends Address {
  readonly user: number;
  readonly update_id: number;
}

/**
 * Puts what was given up in this chat back into its outbox. Gives what to say: the same where the command is delivered
 * again after a crash.
 */
export async function resendUndelivered(to: Resending, { store }: Parts): Promise<string> {
  const lane = laneOf(to);
  const taken = new TakenUpdates(store, RESENT);
  const given = await store.outbox.givenUp({ channel: "telegram", chat: lane });
  const count = Number((await taken.find(to.update_id)) ?? (await countAnswers(store, lane)));
  if (count > 0) await taken.keep(to.update_id, String(count));
  for (const task_id of new Set(given.map((each) => each.task_id)))
    await store.tasks.resend(task_id, personOf(to.user));
  await store.kv.set(`${KEY}${lane}`, "");
  if (count === 0) return "Everything was delivered here.";
  return count === 1 ? "Sending 1 answer or file again." : `Sending ${count} answers and files again.`;
}

async function countAnswers(store: Store, lane: string): Promise<number> {
  const given = await store.outbox.givenUp({ channel: "telegram", chat: lane });
  return given.filter(({ kind }) => kind !== "approval").length;
}
