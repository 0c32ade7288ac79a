import type { Store } from "../../../store/store.ts";
import { findContact, readBook } from "./access-book.ts";
import type { AccessBook, Contact } from "./access-book.ts";

/** Who may use the bot. */
export interface AllowedUsers {
  has(user: number): boolean;
}

/**
 * The users of the settings, who are owners, and those who were let in. Read again before each message is judged, so that
 * what the command line changes counts at once.
 */
export class Access implements AllowedUsers {
  readonly #listed: ReadonlySet<number>;
  readonly #store: Pick<Store, "kv">;
  #book: AccessBook = { contacts: [], codes: [], guesses: {} };

  constructor(listed: readonly number[], store: Pick<Store, "kv">) {
    this.#listed = new Set(listed);
    this.#store = store;
  }

  /** Throws when the store does. */
  async refresh(): Promise<void> {
    this.#book = await readBook(this.#store);
  }

  has(user: number): boolean {
    return this.#listed.has(user) || this.#state(user) === "allowed";
  }

  isOwner(user: number): boolean {
    const contact = findContact(this.#book, user);
    return this.#listed.has(user) || (contact?.state === "allowed" && contact.role === "owner");
  }

  isBlocked(user: number): boolean {
    return !this.#listed.has(user) && this.#state(user) === "blocked";
  }

  get owners(): readonly number[] {
    const paired = this.#book.contacts.map(({ user }) => user).filter((user) => this.isOwner(user));
    return [...new Set([...this.#listed, ...paired])];
  }

  get size(): number {
    return (
      this.#listed.size +
      this.#book.contacts.filter(({ user, state }) => state === "allowed" && !this.#listed.has(user)).length
    );
  }

  #state(user: number): Contact["state"] | undefined {
    return findContact(this.#book, user)?.state;
  }
}
