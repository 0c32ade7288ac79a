import { isObject, parseKept } from "../../../store/sqlite/kept-json.ts";
import type { Store } from "../../../store/store.ts";
import { personOf } from "../address.ts";
import { cut, oneLine } from "../talk/short-text.ts";

const KEPT = "telegram:names";
/** More people than have access to a bot. */
const MAX_KEPT = 500;
const LONGEST_SHOWN = 40;

/**
 * What people with access call themselves, by `telegram:<id>`, as the record names them: a chat shows names. The names
 * are data.
 */
export class PeopleNames {
  readonly #store: Pick<Store, "kv">;
  #known = new Map<string, string>();

  constructor(store: Pick<Store, "kv">) {
    this.#store = store;
  }

  async load(): Promise<void> {
    // If damaged, people are shown by id until they write again.
    const kept = parseKept((await this.#store.kv.get(KEPT)) ?? "{}", areNames) ?? {};
    this.#known = new Map(Object.entries(kept));
  }

  async note({ user, name = "" }: { readonly user: number; readonly name?: string }): Promise<void> {
    const person = personOf(user);
    if (name === "" || this.#known.get(person) === name) return;
    this.#known.delete(person); // the newest are the last
    this.#known.set(person, name);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= MAX_KEPT) break;
      this.#known.delete(oldest);
    }
    await this.#store.kv.set(KEPT, JSON.stringify(Object.fromEntries(this.#known)));
  }

  /** Who is not known here, such as a user of this machine, is shown as recorded. */
  nameOf(person: string): string {
    return cut(oneLine(this.#known.get(person) ?? ""), LONGEST_SHOWN) || person;
  }
}

function areNames(value: unknown): value is Readonly<Record<string, string>> {
  return isObject(value) && Object.values(value).every((name) => typeof name === "string");
}
