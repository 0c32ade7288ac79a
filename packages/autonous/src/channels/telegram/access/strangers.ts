import { personOf } from "../address.ts";
import type { TelegramClient } from "../api/client.ts";
import type { Pressed, Written } from "../incoming/read-update.ts";
import { showPlain } from "../outgoing/show.ts";
import { tellPressed } from "../talk/press.ts";
import type { Store } from "../../../store/store.ts";
import { describePerson, readBook } from "./access-book.ts";
import type { Contact, Person } from "./access-book.ts";
import type { Access } from "./allowed-users.ts";
import {
  askAbout,
  decide,
  decisionIn,
  decisionWords,
  isAsked,
  questionText,
  recordQuestion,
} from "./owner-question.ts";
import type { OwnerQuestion } from "./owner-question.ts";
import { CODE_MINUTES, codeIn, redeemCode } from "./pairing.ts";
import type { Redeemed } from "./pairing.ts";
import type { PeopleNames } from "./people-names.ts";

export interface StrangerParts {
  readonly store: Store;
  readonly client: TelegramClient;
  readonly access: Access;
  readonly clock: () => number;
  readonly log: (line: string) => void;
  /** What people with access call themselves. */
  readonly names: PeopleNames;
}

const ANSWERS_PER_MINUTE = 10;
const LOG_LINES_PER_HOUR = 30;
const MAX_REMEMBERED = 1000;
const MAX_OWNERS_ASKED = 10;
const HOUR_MS = 3_600_000;
/** Longer than a message is retried. If it was not delivered by then, the next message of the person asks again. */
const ASKING_MS = 600_000;

/** What the sender of a code is told that does not work. */
// oxfmt-ignore
const CODE_PROBLEMS: Readonly<Record<Exclude<Redeemed, "paired" | "none" | "blocked">, string>> = {
  wrong:   "This code is not valid. Check it, or ask for a new one.",
  expired: `This code has expired. Ask for a new one: a code is valid for ${CODE_MINUTES} minutes.`,
  used:    "This code was already used. Ask for a new one: each code works once.",
  void:    "This code is no longer valid: too many wrong codes were sent. Ask for a new one.",
  locked:  "Too many wrong codes. Ask the owner of this bot for access.",
};

/**
 * Those who may not use the bot. In private each is told once how to get access, and the owners are asked about them; a
 * code lets them in. In groups they get nothing.
 */
export class Strangers {
  readonly #parts: StrangerParts;
  readonly #told = new Set<number>();
  readonly #logged = new Map<number, number>();
  /** By person: until when the question to the owners may be on its way. */
  readonly #asking = new Map<number, number>();
  #minute = 0;
  #answers = 0;
  #hour = 0;
  #lines = 0;

  constructor(parts: StrangerParts) {
    this.#parts = parts;
  }

  /** When it returns, what was decided is on record. */
  async meet(written: Written): Promise<void> {
    const { access } = this.#parts;
    if (!written.isPrivate || access.isBlocked(written.user)) return;
    if (await this.redeem(written)) return;
    const person = personIn(written);
    this.#logKnock(person);
    const isAboutToBeAsked = await this.#askOwners(person);
    if (this.#told.has(person.user) || !this.mayAnswer()) return;
    if (this.#told.size >= MAX_REMEMBERED) this.#told.clear();
    this.#told.add(person.user);
    const next = isAboutToBeAsked
      ? "Its owner was asked to let you in."
      : "Ask its owner for a code, and send it here.";
    showPlain(this.#parts.client, written, `This bot is private. ${next} Your Telegram id: ${person.user}`);
  }

  /** False where the text is not a code, or no code is open. */
  async redeem(written: Written): Promise<boolean> {
    const { store, client, access, clock, log } = this.#parts;
    const code = codeIn(written.text);
    if (code === undefined || !written.isPrivate) return false;
    const person = personIn(written);
    const [hasAccess, wasOwner] = [access.has(person.user), access.isOwner(person.user)];
    const outcome = await redeemCode(store, { code, person, now: clock(), hasAccess });
    if (outcome === "none") return false;
    if (outcome === "blocked") return true;
    if (outcome !== "paired") {
      this.#logLimited(`Pairing code of ${describePerson(person)} refused: ${outcome}`);
      if (this.mayAnswer()) showPlain(client, written, CODE_PROBLEMS[outcome]);
      return true;
    }
    await access.refresh();
    this.#welcome(person.user);
    if (wasOwner) return true; // delivered again, or nothing new
    log(`Paired ${describePerson(person)}`);
    const note = `${describePerson(person)} has access now: they sent a pairing code made with "autonous telegram pair".`;
    for (const owner of access.owners) if (owner !== person.user) showPlain(client, { chat: owner }, note);
    return true;
  }

  /** An owner's answer to a question about a stranger. False where the button is not one of those. */
  async press(pressed: Pressed): Promise<boolean> {
    const { store, access, clock, log } = this.#parts;
    const chosen = decisionIn(pressed.data);
    if (chosen === undefined) return false;
    if (!access.isOwner(pressed.user) || pressed.on?.chat !== pressed.user) {
      await this.#answer(pressed, "Only an owner of this bot can answer this, in the private chat");
      return true;
    }
    const outcome = await decide(store, chosen, { by: personOf(pressed.user), via: "button", now: clock() });
    if (outcome === undefined) {
      await this.#answer(pressed, "This question is no longer open");
      return true;
    }
    await access.refresh();
    const words = decisionWords(outcome.contact, await this.#nameOf(outcome.contact.by));
    await this.#answer(pressed, outcome.isNew ? words : `Already answered. ${words}`);
    if (!outcome.isNew) return true;
    log(words);
    if (outcome.contact.state === "allowed") this.#welcome(outcome.contact.user);
    this.#changeQuestions(outcome.contact, words);
    return true;
  }

  /** A crowd of strangers may not use up what the bot may send. */
  mayAnswer(): boolean {
    const minute = Math.floor(this.#parts.clock() / 60_000);
    if (minute !== this.#minute) [this.#minute, this.#answers] = [minute, 0];
    return ++this.#answers <= ANSWERS_PER_MINUTE;
  }

  #welcome(user: number): void {
    showPlain(this.#parts.client, { chat: user }, "You have access now. Write a task, or send /help.");
  }

  /** Whether the owners are asked about them, now or before. */
  async #askOwners(person: Person): Promise<boolean> {
    const { store, access, clock } = this.#parts;
    const owners = access.owners.slice(0, MAX_OWNERS_ASKED);
    if (owners.length === 0) return false;
    if ((this.#asking.get(person.user) ?? 0) > clock()) return true;
    const asked = await askAbout(store, { person, now: clock() });
    if (asked === undefined) return false;
    if (!isAsked(asked)) for (const owner of owners) this.#ask(owner, asked);
    return true;
  }

  #ask(owner: number, { contact, keyboard }: OwnerQuestion): void {
    const { store, client, clock } = this.#parts;
    const { user } = contact;
    this.#asking.set(user, clock() + ASKING_MS);
    client.say(owner, "A question about access", async (api, signal) => {
      const { message_id } = await api.sendMessage(owner, questionText(contact), { reply_markup: keyboard }, signal);
      await recordQuestion(store, user, { chat: owner, message_id });
      this.#asking.delete(user);
    });
  }

  #changeQuestions({ questions = [] }: Contact, words: string): void {
    for (const { chat, message_id } of questions)
      this.#parts.client.say(chat, "The answer about access", async (api, signal) => {
        await api.editMessageText(chat, message_id, words, {}, signal);
      });
  }

  async #answer(pressed: Pressed, text: string): Promise<void> {
    const { client, access: allowed } = this.#parts;
    await tellPressed(pressed, { text, isAlert: false }, { client, allowed });
  }

  /** People are named by name where it is known. */
  async #nameOf(by = ""): Promise<string> {
    const { contacts } = await readBook(this.#parts.store);
    const contact = contacts.find(({ user }) => personOf(user) === by);
    if (contact !== undefined) return describePerson(contact);
    const name = this.#parts.names.nameOf(by);
    return name === by ? by : describePerson({ user: Number(by.split(":")[1]), name });
  }

  /** Each once per hour. */
  #logKnock(person: Person): void {
    const now = this.#parts.clock();
    if (now - (this.#logged.get(person.user) ?? -HOUR_MS) < HOUR_MS) return;
    if (this.#logged.size >= MAX_REMEMBERED) this.#logged.clear();
    this.#logged.set(person.user, now);
    this.#logLimited(
      `${describePerson(person)} wrote to the bot and has no access. Let them in: autonous telegram pair`,
    );
  }

  #logLimited(line: string): void {
    const hour = Math.floor(this.#parts.clock() / HOUR_MS);
    if (hour !== this.#hour) [this.#hour, this.#lines] = [hour, 0];
    if (++this.#lines <= LOG_LINES_PER_HOUR) this.#parts.log(line);
    else if (this.#lines === LOG_LINES_PER_HOUR + 1)
      this.#parts.log("More people without access wrote to the bot; they are not listed for the rest of the hour");
  }
}

function personIn({ user, name = "", username }: Written): Person {
  return { user, name, ...(username === undefined ? {} : { username }) };
}
