import { isObject, parseKept } from "../../../store/sqlite/kept-json.ts";
import type { Store } from "../../../store/store.ts";
import type { TelegramClient } from "../api/client.ts";
import { addressOf, inTopic, laneOf } from "../address.ts";
import type { Address } from "../address.ts";
import { MAX_COUNTED, queuedIn, runningIn } from "./chosen-task.ts";

export interface QueuedNoticeOptions {
  readonly store: Store;
  readonly client: TelegramClient;
  /** One that is never set back. */
  readonly clock: () => number;
  /** How long messages wait before that is worth a notice. */
  readonly firstMs?: number;
  /** Between two changes of it. */
  readonly everyMs?: number;
}

const FIRST_MS = 1500;
const EVERY_MS = 4000;
const KEPT = "telegram:queued";

interface Notice {
  message_id?: number;
  /** The number of the chat when it was sent. */
  chat?: number;
  text: string;
  nextAt: number;
}

/**
 * One silent message for each chat where messages wait behind a task or a question. It is changed as their number
 * changes, however many come, and removed once none waits.
 */
export class QueuedNotice {
  readonly #options: Required<QueuedNoticeOptions>;
  readonly #notices = new Map<string, Notice>();

  constructor(options: QueuedNoticeOptions) {
    this.#options = { firstMs: FIRST_MS, everyMs: EVERY_MS, ...options };
  }

  /** What an earlier process left standing is looked after again. */
  async open(): Promise<void> {
    // If damaged, the message stays: it only says that something waited.
    const kept = parseKept((await this.#options.store.kv.get(KEPT)) ?? "{}", areMessages) ?? {};
    for (const [lane, message] of Object.entries(kept)) {
      const [message_id = 0, chat = addressOf(lane)?.chat ?? 0] = [message].flat(); // an older version kept no chats
      this.#notices.set(lane, { message_id, chat, text: "", nextAt: 0 });
    }
  }

  /** A message became a task. */
  note(to: Address): void {
    const { clock, firstMs } = this.#options;
    const lane = laneOf(to);
    if (!this.#notices.has(lane)) this.#notices.set(lane, { text: "", nextAt: clock() + firstMs });
  }

  /** Shows what has changed where it is time to. */
  async show(): Promise<void> {
    const now = this.#options.clock();
    for (const [lane, notice] of this.#notices) {
      if (now < notice.nextAt) continue;
      const to = addressOf(lane);
      const text = to === undefined ? "" : await this.#textFor(lane);
      if (to === undefined || (text === "" && (await this.#remove(to, notice)))) this.#notices.delete(lane);
      if (to === undefined || text === undefined || text === "" || text === notice.text) continue;
      if (!this.#options.client.rate.isTurn(to.chat)) continue; // another message was just sent: at the next look
      notice.nextAt = now + this.#options.everyMs;
      await this.#write(to, notice, text);
    }
  }

  /** Empty where nothing waits; undefined where there is nothing to say now. */
  async #textFor(lane: string): Promise<string | undefined> {
    const { store } = this.#options;
    const { length } = await queuedIn(store, lane);
    if (length === 0) return "";
    const current = await runningIn(store, lane);
    const count = `${length}${length === MAX_COUNTED ? " or more" : ""}`;
    if (current?.state === "waiting_approval")
      return `Queued (${count}): answer the question above first. A reply to it denies the call with your words as the reason.`;
    if (current === undefined) return undefined; // it begins in a moment
    return `Queued (${count}): starts when the running task ends.`;
  }

  async #write(to: Address, notice: Notice, text: string): Promise<void> {
    const { client } = this.#options;
    const { chat } = to;
    if (notice.chat !== client.numberOf(chat)) delete notice.message_id;
    const { message_id } = notice;
    if (message_id !== undefined) {
      const isTaken = await client.trySend(chat, (api, signal) =>
        api.editMessageText(chat, message_id, text, {}, signal),
      );
      if (isTaken !== undefined) notice.text = text;
      return;
    }
    const options = { disable_notification: true, ...inTopic(to) };
    const sent = await client.trySend(chat, (api, signal) => api.sendMessage(chat, text, options, signal));
    if (sent === undefined) return;
    notice.message_id = sent.message_id;
    notice.chat = client.numberOf(chat);
    notice.text = text;
    await this.#keep();
  }

  /** False where it may help to try again. */
  async #remove({ chat }: Address, notice: Notice): Promise<boolean> {
    const { client } = this.#options;
    const { message_id } = notice;
    if (message_id === undefined) return true;
    const isLeft = notice.chat !== client.numberOf(chat);
    if (!isLeft && !(await client.attempt(chat, (api, signal) => api.deleteMessage(chat, message_id, signal))))
      return false;
    delete notice.message_id;
    await this.#keep();
    return true;
  }

  async #keep(): Promise<void> {
    const standing = [...this.#notices].flatMap(([lane, { message_id, chat }]) =>
      message_id === undefined ? [] : [[lane, [message_id, chat]] as const],
    );
    await this.#options.store.kv.set(KEPT, JSON.stringify(Object.fromEntries(standing)));
  }
}

function areMessages(value: unknown): value is Readonly<Record<string, number | readonly number[]>> {
  return isObject(value) && Object.values(value).flat().every(Number.isSafeInteger);
}
