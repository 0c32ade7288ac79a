import { isObject, parseKept } from "../../../store/sqlite/kept-json.ts";
import type { Store } from "../../../store/store.ts";
import { addressOf, laneOf } from "../address.ts";
import type { Address } from "../address.ts";
import type { AllowedUsers } from "../access/allowed-users.ts";
import { codeIn } from "../access/pairing.ts";
import { PART_MS } from "./gather.ts";
import type { Incoming, Pressed, Written } from "./read-update.ts";

interface BacklogOptions {
  readonly store: Store;
  readonly bot_id: number;
  readonly clock: () => number;
  readonly allowed: AllowedUsers;
  readonly window_ms: number;
  readonly max_messages: number;
}

/** What is on record of it. */
interface StoredBacklog {
  /** The last that was looked at. */
  readonly last: number;
  readonly incoming: readonly Incoming[];
  /** How many of each chat or topic, by its lane, are not taken. */
  readonly left: Readonly<Record<string, number>>;
}

/** Presses that are kept, the newest of them: more than there are questions, and no more than a moment's work. */
const MAX_PRESSED = 200;
/** Of those who are not on the list; more than are told so in some minutes. */
const MAX_STRANGERS = 100;

/**
 * What came during downtime. Telegram gives it a hundred at a time and forgets the last hundred when it is asked
 * for the next, so what may still be among the newest is kept on record until all of it has been seen. However much
 * came, little is kept: every Telegram user can write to a bot.
 */
export class Backlog {
  readonly #options: BacklogOptions;
  #last = 0;
  /** Of those on the list. */
  #written: Written[] = [];
  #pressed: Pressed[] = [];
  /** By chat, so that each is told once that they are not on the list. */
  readonly #strangers = new Map<number, Written>();
  readonly #left = new Map<string, number>();
  #isStored = false;

  private constructor(options: BacklogOptions) {
    this.#options = options;
  }

  static async open(options: BacklogOptions): Promise<Backlog> {
    const backlog = new Backlog(options);
    const text = await options.store.kv.get(backlog.#key);
    // A damaged entry counts as missing: Telegram sends what it still has again, and each message is handled once.
    const kept = text === undefined || text === "" ? undefined : parseKept(text, isKept);
    if (kept !== undefined) {
      const { last, incoming, left } = kept;
      for (const [chat, count] of Object.entries(left))
        backlog.#left.set(/^-?\d+$/.test(chat) ? laneOf({ chat: Number(chat) }) : chat, count); // an older version had chats
      for (const each of incoming) backlog.#place(each);
      backlog.#last = last;
      backlog.#isStored = true;
    }
    return backlog;
  }

  /** What is to be taken, in order: the newest, and none that is too old. */
  get incoming(): readonly Incoming[] {
    const all = [...this.#written, ...this.#pressed, ...this.#strangers.values()];
    return all.toSorted((one, other) => one.update_id - other.update_id);
  }

  /** Chats and topics with messages that are not taken, and how many. */
  get left(): readonly (readonly [to: Address, count: number])[] {
    return [...this.#left].flatMap(([lane, count]) => {
      const to = addressOf(lane);
      return to === undefined ? [] : [[to, count] as const];
    });
  }

  add(update_id: number, incoming: Incoming | undefined): void {
    if (update_id <= this.#last) return; // given again: after a crash, or since the store was not ready
    this.#last = update_id;
    if (incoming === undefined) return;
    const { clock, window_ms, allowed } = this.#options;
    const isTooOld = incoming.kind === "written" && incoming.sent_at < clock() - window_ms;
    if (!isTooOld) this.#place(incoming);
    else if (allowed.has(incoming.user)) this.#leave(incoming);
  }

  /** Puts it on record: what it came from may be forgotten. */
  async keep(): Promise<void> {
    const kept: StoredBacklog = { last: this.#last, incoming: this.incoming, left: Object.fromEntries(this.#left) };
    await this.#options.store.kv.set(this.#key, JSON.stringify(kept));
    this.#isStored = true;
  }

  /** All of it was taken. */
  async clear(): Promise<void> {
    if (this.#isStored) await this.#options.store.kv.set(this.#key, "");
    this.#isStored = false;
    this.#last = 0;
    [this.#written, this.#pressed] = [[], []];
    this.#strangers.clear();
    this.#left.clear();
  }

  #place(incoming: Incoming): void {
    const { max_messages, allowed } = this.#options;
    if (!allowed.has(incoming.user)) return this.#placeStranger(incoming);
    if (incoming.kind === "pressed") {
      this.#pressed.push(incoming);
      if (this.#pressed.length > MAX_PRESSED) this.#pressed.shift();
      return;
    }
    if (incoming.isUnaddressed === true && incoming.album === undefined && !this.#continuesText(incoming)) return;
    this.#written.push(incoming);
    const oldest = this.#written.length > max_messages ? this.#written.shift() : undefined;
    if (oldest !== undefined) this.#leave(oldest);
  }

  /** What else is said in a group takes no place. */
  #continuesText({ user, sent_at, ...address }: Written): boolean {
    const lane = laneOf(address);
    const last = this.#written.findLast((each) => each.user === user && laneOf(each) === lane);
    return last?.long !== undefined && Math.abs(sent_at - last.sent_at) <= PART_MS;
  }

  /** Only whom to answer, and a pairing code: what else they wrote is not kept, and what they pressed would do nothing. */
  #placeStranger(incoming: Incoming): void {
    if (incoming.kind === "pressed" || !incoming.isPrivate) return;
    const { kind, update_id, chat, message_id, isPrivate, user, name, username, sent_at } = incoming;
    const text = codeIn(incoming.text) === undefined ? "" : incoming.text;
    const isKnown = this.#strangers.has(chat);
    if ((isKnown && text === "") || (!isKnown && this.#strangers.size >= MAX_STRANGERS)) return;
    const names = { ...(name === undefined ? {} : { name }), ...(username === undefined ? {} : { username }) };
    this.#strangers.set(chat, { kind, update_id, chat, message_id, isPrivate, user, ...names, sent_at, text });
  }

  #leave(written: Written): void {
    if (written.isUnaddressed === true) return;
    const lane = laneOf(written);
    this.#left.set(lane, (this.#left.get(lane) ?? 0) + 1);
  }

  get #key(): string {
    return `telegram:backlog:${this.#options.bot_id}`;
  }
}

function isKept(value: unknown): value is StoredBacklog {
  if (!isObject(value)) return false;
  const { last, incoming, left } = value;
  const isIncoming = (each: unknown): boolean =>
    isObject(each) && typeof each["kind"] === "string" && Number.isSafeInteger(each["update_id"]);
  const areIncoming = Array.isArray(incoming) && incoming.every(isIncoming);
  return Number.isSafeInteger(last) && areIncoming && isObject(left) && Object.values(left).every(Number.isSafeInteger);
}
