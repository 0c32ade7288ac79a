import { createHash, randomInt } from "node:crypto";
import type { Store } from "../../../store/store.ts";
import { admitted, changeBook, findContact, readBook } from "./access-book.ts";
import type { AccessBook, PairingCode, Person } from "./access-book.ts";

/** Crockford's base 32: no letter is taken for a digit. 12 of them are 60 bits. */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const GROUPS = 3;
const GROUP_LENGTH = 4;
export const CODE_MINUTES = 10;
/** Wrong codes: of one person, whose codes are then refused, and of all together, which end every open code. */
const MAX_BY_PERSON = 5;
const MAX_BY_ALL = 20;
/** Codes that may be open at once; the oldest expires first. */
const MAX_OPEN = 10;
/** How long an ended code is remembered, to say why it does not work. */
const REMEMBERED_MS = 60 * 60_000;

export interface MadeCode {
  /** `7K2M-9QXD-4TBR`. Shown once; only its hash is stored. */
  readonly code: string;
  readonly hash: string;
  readonly expires_at: number;
}

export async function makeCode(
  store: Pick<Store, "kv">,
  { by, now }: { readonly by: string; readonly now: number },
): Promise<MadeCode> {
  const code = Array.from({ length: GROUPS }, drawGroup).join("-");
  const made = { hash: hashOf(code), made_by: by, expires_at: now + CODE_MINUTES * 60_000 };
  await changeBook(store, (book) => {
    const kept = book.codes.filter(({ expires_at }) => expires_at > now - REMEMBERED_MS);
    const open = kept.filter((each) => isOpen(each, now));
    const ended = kept.filter((each) => !open.includes(each));
    const guesses = open.length > 0 ? book.guesses : {};
    return { result: undefined, book: { ...book, codes: [...ended, ...open.slice(1 - MAX_OPEN), made], guesses } };
  });
  return { code, hash: made.hash, expires_at: made.expires_at };
}

function drawGroup(): string {
  return Array.from({ length: GROUP_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
}

function isOpen({ expires_at, used_by, is_void = false }: PairingCode, now: number): boolean {
  return expires_at > now && used_by === undefined && !is_void;
}

/** A code, or the link that carries one: `/start <code>`, as people type it. Undefined where the text is neither. */
export function codeIn(text: string): string | undefined {
  const [, code] = /^(?:\/start\s+)?([0-9a-z]{4}[-\s]?[0-9a-z]{4}[-\s]?[0-9a-z]{4})$/i.exec(text.trim()) ?? [];
  return code;
}

/** The code in its original form, whatever was typed for it: small letters, other signs between, letters that look like digits. */
function normalize(code: string): string {
  return code
    .toUpperCase()
    .replaceAll(/[^0-9A-Z]/g, "")
    .replaceAll("O", "0")
    .replaceAll(/[IL]/g, "1");
}

function hashOf(code: string): string {
  return createHash("sha256")
    .update(`autonous telegram pairing ${normalize(code)}`)
    .digest("hex");
}

/** `none`: no code is open, so it was not a code. */
export type Redeemed = "paired" | "none" | "wrong" | "expired" | "used" | "void" | "locked" | "blocked";

interface Redeeming {
  readonly code: string;
  readonly person: Person;
  readonly now: number;
  /** A text that is not a code of ours is a message then, and not a guess. */
  readonly hasAccess?: boolean;
}

/** The sender of an open code is let in. Delivered again after a crash, it gives the same answer. */
export async function redeemCode(
  store: Pick<Store, "kv">,
  { code, person, now, hasAccess = false }: Redeeming,
): Promise<Redeemed> {
  const hash = hashOf(code);
  return await changeBook(store, (book): ReturnType<Parameters<typeof changeBook<Redeemed>>[1]> => {
    const found = book.codes.find((each) => each.hash === hash);
    const contact = findContact(book, person.user);
    if (found?.used_by === person.user && contact?.state === "allowed") return { result: "paired" };
    if (contact?.state === "blocked") return { result: "blocked" };
    const isAnyOpen = book.codes.some((each) => isOpen(each, now));
    if (found === undefined && (hasAccess || !isAnyOpen)) return { result: "none" };
    if ((book.guesses[person.user] ?? 0) >= MAX_BY_PERSON) return { result: "locked" };
    if (found === undefined) return { result: "wrong", book: withGuess(book, person.user) };
    if (found.used_by !== undefined) return { result: "used" };
    if (found.is_void === true) return { result: "void" };
    if (found.expires_at <= now) return { result: "expired" };
    const decision = { role: "owner", by: found.made_by, via: "code", now } as const;
    const { book: changed, events } = admitted(book, person, decision);
    const codes = changed.codes.map((each) => (each.hash === hash ? { ...each, used_by: person.user } : each));
    return { result: "paired", book: { ...changed, codes }, events };
  });
}

function withGuess(book: AccessBook, user: number): AccessBook {
  const guesses: Record<string, number> = { ...book.guesses, [user]: (book.guesses[user] ?? 0) + 1 };
  const total = Object.values(guesses).reduce((sum, each) => sum + each, 0);
  if (total < MAX_BY_ALL) return { ...book, guesses };
  const codes = book.codes.map((code) => (code.used_by === undefined ? { ...code, is_void: true } : code));
  return { ...book, guesses, codes };
}

/** The state of a code. */
export type CodeState =
  | { readonly state: "open" | "expired" | "void" }
  | { readonly state: "used"; readonly person: Person };

export async function stateOfCode(
  store: Pick<Store, "kv">,
  { hash, now }: { readonly hash: string; readonly now: number },
): Promise<CodeState> {
  const book = await readBook(store);
  const code = book.codes.find((each) => each.hash === hash);
  if (code?.used_by !== undefined)
    return { state: "used", person: findContact(book, code.used_by) ?? { user: code.used_by, name: "" } };
  if (code === undefined || code.is_void === true) return { state: "void" };
  return { state: code.expires_at <= now ? "expired" : "open" };
}
