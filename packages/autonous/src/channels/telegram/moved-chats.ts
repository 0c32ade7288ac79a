import type { Update } from "grammy/types";
import { isObject, parseKept } from "../../store/sqlite/kept-json.ts";
import type { Store } from "../../store/store.ts";
import type { Incoming } from "./incoming/read-update.ts";

interface MovedChat {
  readonly from: number;
  readonly to: number;
  /** Milliseconds since the epoch. In the new chat, numbers of earlier messages mean other messages, or none. */
  readonly at: number;
}

const KEPT = "telegram:moved";
/** Anyone can take a bot into groups: the newest are kept. */
const MAX_KEPT = 1000;

/**
 * A group that becomes a supergroup gets a new number. Its conversation goes on under the old one: whatever comes in has
 * the old number, and whatever goes out is sent to the new one, so that tasks, questions and topics stay together.
 */
export class MovedChats {
  readonly #store: Store;
  readonly #clock: () => number;
  #moved: readonly MovedChat[] = [];

  constructor(store: Store, clock: () => number) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Before anything is taken or sent. */
  async load(): Promise<void> {
    // If damaged, Telegram gives the new number again with the first refusal.
    this.#moved = parseKept((await this.#store.kv.get(KEPT)) ?? "[]", areMoved) ?? [];
  }

  /** The number that Telegram knows a chat by now. */
  current(chat: number): number {
    return this.#moved.find(({ from }) => from === chat)?.to ?? chat;
  }

  /** When the chat got its new number. */
  movedAt(chat: number): number | undefined {
    return this.#moved.find(({ from }) => from === chat)?.at;
  }

  async record(from: number, to: number): Promise<void> {
    const known = this.#original(from);
    if (known === to || this.current(known) === to) return;
    const others = this.#moved.filter((each) => each.from !== known);
    const moved = [...others, { from: known, to, at: this.#clock() }].slice(-MAX_KEPT);
    await this.#store.kv.set(KEPT, JSON.stringify(moved));
    this.#moved = moved;
  }

  /** Telegram says that a group moved: in the old chat, and in the new one. */
  async notice({ message }: Update): Promise<void> {
    if (message?.migrate_to_chat_id !== undefined) await this.record(message.chat.id, message.migrate_to_chat_id);
    if (message?.migrate_from_chat_id !== undefined) await this.record(message.migrate_from_chat_id, message.chat.id);
  }

  /** What came in, under the number that its conversation began with. */
  translate(incoming: Incoming): Incoming {
    if (incoming.kind === "written") return { ...incoming, chat: this.#original(incoming.chat) };
    const { on } = incoming;
    if (on === undefined) return incoming;
    const isLeft = this.current(on.chat) !== on.chat;
    return { ...incoming, on: { ...on, chat: this.#original(on.chat), ...(isLeft ? { isLeft } : {}) } };
  }

  #original(chat: number): number {
    return this.#moved.find(({ to }) => to === chat)?.from ?? chat;
  }
}

function areMoved(value: unknown): value is readonly MovedChat[] {
  const isMoved = (each: unknown): boolean =>
    isObject(each) && ["from", "to", "at"].every((name) => Number.isSafeInteger(each[name]));
  return Array.isArray(value) && value.every(isMoved);
}
