import { isObject, parseKept } from "../../../store/sqlite/kept-json.ts";
import type { Store } from "../../../store/store.ts";
import type { TelegramClient } from "../api/client.ts";
import { addressIn, keyOf } from "../address.ts";
import type { Address } from "../address.ts";
import { isOwnCommand, PART_MS } from "../incoming/gather.ts";
import type { Written } from "../incoming/read-update.ts";
import { sendPart } from "../outgoing/show.ts";
import { TakenUpdates } from "./taken-updates.ts";

/** A person who pressed "Deny with a reason…" and has not written it yet. `chat` is the number that the chat had then. */
interface Awaited extends Address {
  readonly approval_id: string;
  readonly user: number;
  /** The message that asks for the reason. Null until it is sent and on record. */
  readonly message_id: number | null;
}

/** The reason that was taken last in a chat or topic: more of it may follow. */
interface Taken {
  readonly approval_id: string;
  readonly user: number;
  /** Of the last part. */
  readonly sent_at: number;
  readonly long: number | undefined;
  readonly reply_to: number | undefined;
}

export interface ReasonParts {
  readonly store: Store;
  readonly client: TelegramClient;
}

/** Where the reason is asked for. */
interface Asking extends Address {
  readonly approval_id: string;
  readonly user: number;
  /** The message that the prompt replies to. */
  readonly reply_to: number;
}

const KEPT = "telegram:reasons";
const TAKEN = "telegram:reason-taken";
const LAST = "reason-last";
/** More people than answer at a time. */
const MAX_AWAITED = 100;
const PROMPT = "What is the reason? Reply to this message: the agent gets your words, and the call is denied.";

/** Reasons for a no that people write: asked for, and recognised by the message that they reply to. */
export class Reasons {
  readonly #parts: ReasonParts;
  readonly #taken: TakenUpdates;
  #known: readonly Awaited[] | undefined;

  constructor(parts: ReasonParts) {
    this.#parts = parts;
    this.#taken = new TakenUpdates(parts.store, TAKEN);
  }

  /** Asks for the reason. That it is asked for is on record before anything is sent. */
  async ask({ approval_id, user, reply_to, ...address }: Asking): Promise<void> {
    const { client } = this.#parts;
    const to = addressIn(address);
    const chat = client.numberOf(to.chat);
    const known = await this.#awaited();
    // Pressed again, the first prompt counts until the second one is there.
    const before = known.find((each) => each.approval_id === approval_id && each.chat === chat);
    const awaited: Awaited = { ...to, chat, approval_id, user, message_id: before?.message_id ?? null };
    const others = known.filter((each) => each.approval_id !== approval_id);
    await this.#keep([...others, awaited].slice(-MAX_AWAITED));
    client.say(to.chat, "The question for a reason", async (api, signal) => {
      const sent = await sendPart(
        api,
        {
          to,
          part: { text: PROMPT, entities: [] },
          reply_markup: { force_reply: true, selective: true, input_field_placeholder: "Reason" },
          reply_parameters: { message_id: reply_to, allow_sending_without_reply: true },
        },
        signal,
      );
      await this.#sent(awaited, sent.message_id);
    });
  }

  /**
   * The request whose prompt this replies to. Where a prompt may have been sent without being recorded, every reply of
   * the person in its chat or topic counts.
   */
  async find({ chat, thread, user, reply_to = 0 }: Written): Promise<string | undefined> {
    const number = this.#parts.client.numberOf(chat);
    const here = (await this.#awaited()).filter((each) => each.chat === number);
    const found =
      here.find((each) => each.message_id === reply_to) ??
      here.find((each) => each.message_id === null && each.user === user && each.thread === thread);
    return found?.approval_id;
  }

  /**
   * The request that this very message answered before: Telegram gives a message again whose end we did not see, and what
   * was a reason may not become a task.
   */
  async taken({ update_id }: Written): Promise<string | undefined> {
    return await this.#taken.find(update_id);
  }

  async take({ update_id, user, sent_at, long, reply_to, ...address }: Written, approval_id: string): Promise<void> {
    await this.#taken.keep(update_id, approval_id);
    await this.#keepLast(address, { approval_id, user, sent_at, long, reply_to });
  }

  /**
   * Whether this is a further part of a reason that the app split. The first part is longer than what an answer takes of
   * a reason, so nothing of it is lost to the agent; it may not become a task.
   */
  async continues(written: Written): Promise<boolean> {
    const text = await this.#parts.store.kv.get(keyOf(LAST, written));
    const last = text === undefined ? undefined : parseKept(text, isTaken);
    if (last?.long === undefined || last.user !== written.user) return false;
    const { update_id, sent_at, long, reply_to, files, unread } = written;
    if (unread !== undefined || files?.some(({ from }) => from === undefined) === true) return false;
    if (reply_to !== undefined && reply_to !== last.reply_to) return false; // some apps make a reply of each part
    if (Math.abs(sent_at - last.sent_at) > PART_MS || isOwnCommand(written.text)) return false;
    await this.#taken.keep(update_id, last.approval_id);
    await this.#keepLast(written, { ...last, sent_at, long });
    return true;
  }

  async #keepLast(to: Address, last: Taken): Promise<void> {
    await this.#parts.store.kv.set(keyOf(LAST, to), JSON.stringify(last));
  }

  /** Removes the prompts of requests that are no longer open. */
  async settle(isOpen: (approval_id: string) => Promise<boolean>): Promise<void> {
    const { client } = this.#parts;
    const over = new Set<string>();
    for (const { approval_id, chat, message_id } of await this.#awaited()) {
      const isLeft = client.numberOf(chat) !== chat; // a group that got another number
      if (!isLeft && (await isOpen(approval_id))) continue;
      // A prompt that a person deleted, or that is too old to be deleted, counts as removed.
      const isGone =
        isLeft ||
        message_id === null ||
        (await client.attempt(chat, (api, signal) => api.deleteMessage(chat, message_id, signal)));
      if (isGone) over.add(approval_id);
    }
    if (over.size > 0) await this.#keep((await this.#awaited()).filter((each) => !over.has(each.approval_id)));
  }

  /** One prompt stays: an earlier one is removed, and this one where the request was answered meanwhile. */
  async #sent({ approval_id, chat }: Awaited, message_id: number): Promise<void> {
    const sent = { chat: this.#parts.client.numberOf(chat), message_id };
    const known = await this.#awaited();
    const before = known.find((each) => each.approval_id === approval_id);
    if (before !== undefined) await this.#keep(known.map((each) => (each === before ? { ...each, ...sent } : each)));
    const surplus = before === undefined ? message_id : before.message_id;
    if (surplus !== null && (before === undefined || before.chat === sent.chat))
      await this.#parts.client.attempt(sent.chat, (api, signal) => api.deleteMessage(sent.chat, surplus, signal));
  }

  async #awaited(): Promise<readonly Awaited[]> {
    if (this.#known !== undefined) return this.#known;
    const text = await this.#parts.store.kv.get(KEPT);
    // If damaged, a reply to the prompt is a message like any other; the question can still be answered.
    return (this.#known ??= text === undefined ? [] : (parseKept(text, areAwaited) ?? []));
  }

  async #keep(awaited: readonly Awaited[]): Promise<void> {
    this.#known = awaited;
    await this.#parts.store.kv.set(KEPT, JSON.stringify(awaited));
  }
}

function isTaken(value: unknown): value is Taken {
  return isObject(value) && typeof value["approval_id"] === "string" && Number.isSafeInteger(value["sent_at"]);
}

function areAwaited(value: unknown): value is readonly Awaited[] {
  const isAwaited = (each: unknown): boolean =>
    isObject(each) &&
    typeof each["approval_id"] === "string" &&
    Number.isSafeInteger(each["chat"]) &&
    Number.isSafeInteger(each["user"]) &&
    (each["message_id"] === null || Number.isSafeInteger(each["message_id"]));
  return Array.isArray(value) && value.every(isAwaited);
}
