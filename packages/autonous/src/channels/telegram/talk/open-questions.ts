import { isObject, parseKept } from "../../../store/sqlite/kept-json.ts";
import type { Store } from "../../../store/store.ts";
import type { Address } from "../address.ts";

/** A message with buttons whose request may still be open. `chat` is the number that its chat had when it was sent. */
export interface OpenQuestion extends Address {
  readonly approval_id: string;
  readonly message_id: number;
}

const KEPT = "telegram:questions";

/** The messages that are to be changed once their requests are answered, on record. */
export class OpenQuestions {
  readonly #store: Store;
  #known: readonly OpenQuestion[] | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  async list(): Promise<readonly OpenQuestion[]> {
    if (this.#known !== undefined) return this.#known;
    const text = await this.#store.kv.get(KEPT);
    // If damaged, the messages keep their buttons: a press is judged by the approval, whatever the message says.
    return (this.#known ??= text === undefined ? [] : (parseKept(text, areQuestions) ?? []));
  }

  async keep(open: readonly OpenQuestion[]): Promise<void> {
    this.#known = open;
    await this.#store.kv.set(KEPT, JSON.stringify(open));
  }
}

export function isSame(one: OpenQuestion, other: OpenQuestion): boolean {
  return one.chat === other.chat && one.message_id === other.message_id;
}

function areQuestions(value: unknown): value is readonly OpenQuestion[] {
  const isQuestion = (each: unknown): boolean =>
    isObject(each) &&
    typeof each["approval_id"] === "string" &&
    Number.isSafeInteger(each["chat"]) &&
    Number.isSafeInteger(each["message_id"]);
  return Array.isArray(value) && value.every(isQuestion);
}
