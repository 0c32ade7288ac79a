import { randomBytes } from "node:crypto";
import type { InlineKeyboardMarkup } from "grammy/types";
import type { ServiceEvent, Store } from "../../../store/store.ts";
import { admitted, changeBook, describePerson, findContact, payloadOf, withContact } from "./access-book.ts";
import type { AccessBook, Contact, Decision, Person } from "./access-book.ts";

const DAY_MS = 86_400_000;
/** New questions per day, all people together. */
const MAX_PER_DAY = 10;
/** After this time the owners may be asked about the person again. */
const KEPT_MS = 30 * DAY_MS;

export interface OwnerQuestion {
  readonly contact: Contact;
  readonly keyboard: InlineKeyboardMarkup;
}

/** Records that the owners are asked. Undefined if they are not: too many questions today, or they have answered. */
export async function askAbout(
  store: Pick<Store, "kv">,
  { person, now }: { readonly person: Person; readonly now: number },
): Promise<OwnerQuestion | undefined> {
  const contact = await changeBook<Contact | undefined>(store, (book) => {
    const known = findContact(book, person.user);
    if (known?.state === "asked" && now - known.at < KEPT_MS) return { result: known };
    if (known !== undefined && known.state !== "asked") return { result: undefined };
    const kept = book.contacts.filter(({ state, at }) => state !== "asked" || now - at < KEPT_MS);
    if (kept.filter(({ asked_at = 0 }) => now - asked_at < DAY_MS).length >= MAX_PER_DAY) return { result: undefined };
    const nonce = randomBytes(6).toString("base64url");
    const made: Contact = { ...person, state: "asked", at: now, asked_at: now, nonce };
    return { result: made, book: withContact({ ...book, contacts: kept }, made) };
  });
  return contact === undefined ? undefined : { contact, keyboard: keyboardFor(contact) };
}

export function isAsked({ contact }: OwnerQuestion): boolean {
  return (contact.questions ?? []).length > 0;
}

/** Stores which message has the question, so that it can be edited once it is answered. */
export async function recordQuestion(
  store: Pick<Store, "kv">,
  user: number,
  question: { readonly chat: number; readonly message_id: number },
): Promise<void> {
  await changeBook(store, (book) => {
    const contact = findContact(book, user);
    if (contact === undefined) return { result: undefined };
    const questions = [...(contact.questions ?? []), question];
    return { result: undefined, book: withContact(book, { ...contact, questions }) };
  });
}

export function questionText(person: Person): string {
  return `${describePerson(person)} wrote to this bot. Let them in?\nWith access they can give it tasks, as you do.`;
}

// oxfmt-ignore
const CHOICES = {
  a: { label: "Allow",  state: "allowed" },
  i: { label: "Ignore", state: "ignored" },
  b: { label: "Block",  state: "blocked" },
} as const;
type Choice = keyof typeof CHOICES;

function keyboardFor({ user, nonce = "" }: Contact): InlineKeyboardMarkup {
  const button = (choice: Choice) => ({
    text: CHOICES[choice].label,
    callback_data: `access:${choice}:${user}:${nonce}`,
  });
  return { inline_keyboard: [[button("a"), button("i"), button("b")]] };
}

export interface Chosen {
  readonly choice: Choice;
  readonly user: number;
  readonly nonce: string;
}

/** Undefined where the button is not one of these. */
export function decisionIn(data: string): Chosen | undefined {
  const [, choice, user, nonce] = /^access:([aib]):(\d{1,16}):([\w-]{8})$/.exec(data) ?? [];
  if (choice === undefined || nonce === undefined) return undefined;
  return { choice: choice as Choice, user: Number(user), nonce };
}

/** The first answer counts. Undefined where the question is no longer open. */
export async function decide(
  store: Pick<Store, "kv">,
  { choice, user, nonce }: Chosen,
  decision: Decision,
): Promise<{ readonly contact: Contact; readonly isNew: boolean } | undefined> {
  return await changeBook<{ contact: Contact; isNew: boolean } | undefined>(store, (book) => {
    const contact = findContact(book, user);
    if (contact === undefined || contact.nonce !== nonce) return { result: undefined };
    if (contact.state !== "asked") return { result: { contact, isNew: false } };
    const { state } = CHOICES[choice];
    const decided =
      state === "allowed"
        ? admitted(book, contact, { ...decision, role: "member" })
        : refused(book, contact, { ...decision, state });
    return { ...decided, result: { contact: findContact(decided.book, user) ?? contact, isNew: true } };
  });
}

function refused(
  book: AccessBook,
  contact: Contact,
  { by, via, now, state }: Decision & { readonly state: "ignored" | "blocked" },
): { readonly book: AccessBook; readonly events: readonly ServiceEvent[] } {
  const payload = { ...payloadOf(contact, { by, via }), blocked: state === "blocked" };
  return {
    book: withContact(book, { ...contact, state, by, via, at: now }),
    events: [{ type: "access.denied", payload }],
  };
}

// oxfmt-ignore
const OUTCOMES: Readonly<Record<Contact["state"], string>> = {
  asked:   "has no access yet",
  allowed: "has access",
  ignored: "is ignored: you are not asked about them again",
  blocked: "is blocked: the bot does not answer them",
};

/** The outcome of the question, for its message and the log. */
export function decisionWords(contact: Contact, by: string): string {
  const undo = contact.state === "asked" ? "" : ` Undo: autonous telegram remove ${contact.user}`;
  return `${describePerson(contact)} ${OUTCOMES[contact.state]} (decided by ${by}).${undo}`;
}
