import { isObject, parseKept } from "../../../store/sqlite/kept-json.ts";
import type { ValueChange, ServiceEvent, Store } from "../../../store/store.ts";
import { nameInHeading } from "../../../model/prompt/quoted.ts";

/** A person as Telegram describes them. The name is their own choice: data. */
export interface Person {
  readonly user: number;
  readonly name: string;
  readonly username?: string;
}

/** How a decision about a person was made, and by whom. */
export interface Decision {
  /** `telegram:7`, or a user of this machine. */
  readonly by: string;
  readonly via: "code" | "button" | "command line";
  readonly now: number;
}

/** An owner may let others in, a member may not. */
export type Role = "owner" | "member";

/**
 * A person who is not on the list of the settings. `asked`: the owners were asked about them. `ignored`: the owners are
 * not asked again. `blocked`: they get no answer, and no code works for them. Only `allowed` may use the bot.
 */
export interface Contact extends Person {
  readonly state: "asked" | "allowed" | "ignored" | "blocked";
  readonly role?: Role;
  readonly by?: string;
  readonly via?: string;
  /** Milliseconds since the epoch: of the last change. */
  readonly at: number;
  /** Of the question to the owners: when it was asked, what its buttons carry, and where it was sent. */
  readonly asked_at?: number;
  readonly nonce?: string;
  readonly questions?: readonly { readonly chat: number; readonly message_id: number }[];
}

/** Only its hash is stored. */
export interface PairingCode {
  readonly hash: string;
  readonly made_by: string;
  readonly expires_at: number;
  readonly used_by?: number;
  /** Too many wrong codes were sent. */
  readonly is_void?: boolean;
}

export interface AccessBook {
  readonly contacts: readonly Contact[];
  readonly codes: readonly PairingCode[];
  /** Wrong codes by person, since the oldest open code was made. */
  readonly guesses: Readonly<Record<string, number>>;
}

/** The key of the bot's username, from which the command line makes links. */
export const BOT_NAME = "telegram:bot";

const KEY = "telegram:access";
const EMPTY: AccessBook = { contacts: [], codes: [], guesses: {} };

type BookChange<Result> = Omit<ValueChange<Result>, "value"> & { readonly book?: AccessBook };

export async function readBook({ kv }: Pick<Store, "kv">): Promise<AccessBook> {
  return parseBook(await kv.get(KEY));
}

/** One commit: the book, and the record of the change. */
export async function changeBook<Result>(
  { kv }: Pick<Store, "kv">,
  change: (book: AccessBook) => BookChange<Result>,
): Promise<Result> {
  return await kv.update(KEY, (text) => {
    const { book, ...rest } = change(parseBook(text));
    return book === undefined ? rest : { ...rest, value: JSON.stringify(book) };
  });
}

/** If damaged, only the users of the settings are allowed. The record still says who was. */
function parseBook(text: string | undefined): AccessBook {
  return (text === undefined ? undefined : parseKept(text, isBook)) ?? EMPTY;
}

export function findContact({ contacts }: AccessBook, user: number): Contact | undefined {
  return contacts.find((contact) => contact.user === user);
}

export function withContact(book: AccessBook, contact: Contact): AccessBook {
  return { ...book, contacts: [...book.contacts.filter(({ user }) => user !== contact.user), contact] };
}

/** Lets the person in. The caller has checked that this may be. */
export function admitted(
  book: AccessBook,
  person: Person,
  { role, by, via, now }: Decision & { readonly role: Role },
): { readonly book: AccessBook; readonly events: readonly ServiceEvent[] } {
  const { state: _, ...before } = findContact(book, person.user) ?? {};
  const contact: Contact = { ...before, ...personIn(person), state: "allowed", role, by, via, at: now };
  const payload = { ...payloadOf(person, { by, via }), role };
  return { book: withContact(book, contact), events: [{ type: "access.granted", payload }] };
}

/** Removes the person: their access, or that they are ignored or blocked. Undefined if they are not in the book. */
export async function removeContact(
  store: Pick<Store, "kv">,
  user: number,
  { by, via }: Decision,
): Promise<Contact | undefined> {
  return await changeBook(store, (book) => {
    const contact = findContact(book, user);
    if (contact === undefined) return { result: undefined };
    const contacts = book.contacts.filter((each) => each.user !== user);
    const payload = { ...payloadOf(contact, { by, via }), was: contact.state };
    const events: readonly ServiceEvent[] = contact.state === "asked" ? [] : [{ type: "access.revoked", payload }];
    return { result: contact, book: { ...book, contacts }, events };
  });
}

export function payloadOf(
  { user, name }: Person,
  { by, via }: Pick<Decision, "by" | "via">,
): Readonly<Record<string, unknown>> {
  return { channel: "telegram", user: String(user), name, by, via };
}

function personIn({ user, name, username }: Person): Person {
  return { user, name, ...(username === undefined ? {} : { username }) };
}

/** For people and logs: `"Eve" (@eve, id 7)`. */
export function describePerson({ user, name, username }: Person): string {
  return `${nameInHeading(name)} (${username === undefined ? "" : `@${username}, `}id ${user})`;
}

function isBook(value: unknown): value is AccessBook {
  if (!isObject(value)) return false;
  const { contacts, codes, guesses } = value;
  return (
    Array.isArray(contacts) &&
    contacts.every(isContact) &&
    Array.isArray(codes) &&
    codes.every(isCode) &&
    isObject(guesses) &&
    Object.values(guesses).every(Number.isSafeInteger)
  );
}

function isContact(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { user, name, state, at } = value;
  return Number.isSafeInteger(user) && typeof name === "string" && typeof state === "string" && Number.isFinite(at);
}

function isCode(value: unknown): boolean {
  return isObject(value) && typeof value["hash"] === "string" && Number.isFinite(value["expires_at"]);
}
