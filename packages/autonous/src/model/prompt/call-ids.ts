import { createHash } from "node:crypto";
import type { MessageCall } from "../provider.ts";
import type { Vendor, Vendors } from "../vendors/vendors.ts";

/** Call ids that a vendor accepts. */
interface IdRule {
  /** Ids of other vendors that it accepts. */
  readonly takes: RegExp;
  /** Its own ids must match too: the server made them, but the model's template rejects other forms. */
  readonly isStrict?: true;
  /** The same id may be used in several replies, but only once per reply. */
  readonly repeats?: true;
  /** Creates an id for a call of another vendor. Default: our id. */
  readonly make?: (call: MessageCall, place: number) => string;
}

/** Accepted by every vendor. Our ids match. */
const COMMON: IdRule = { takes: /^[a-zA-Z0-9_-]{1,64}$/ };

/** By the kind of server. */
const KINDS: Readonly<Record<string, IdRule>> = {
  "openai-chat": { takes: /^[a-zA-Z0-9_-]{1,40}$/ },
  compatible: { takes: /^[a-zA-Z0-9_-]{1,40}$/, repeats: true },
};

/** By the maker of the model, on any server: the template is part of the model. */
const MAKERS: Partial<Record<Vendor, IdRule>> = {
  // The API, the templates and the tokenizer reject every other form.
  mistral: { takes: /^[a-zA-Z0-9]{9}$/, isStrict: true, make: ({ tool_call_id }) => shortId(tool_call_id) },
  // The template prints the id, and the model was trained only on this form: with another one it stops making calls.
  kimi: { takes: /^$/, repeats: true, make: ({ name }, place) => `functions.${name}:${place}` },
};

const ID_CHARACTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

function shortId(id: string): string {
  const bytes = createHash("sha256").update(id).digest().subarray(0, 9);
  return Array.from(bytes, (byte) => ID_CHARACTERS[byte % ID_CHARACTERS.length]).join("");
}

export function idRule(kind: string, { maker }: Vendors): IdRule {
  const general = KINDS[kind] ?? COMMON;
  const own = MAKERS[maker];
  return own === undefined ? general : { ...general, ...own };
}

/** Assigns each call of a request an id for the vendor. Deterministic. */
export class CallIds {
  readonly #rule: IdRule;
  readonly #used = new Set<string>();
  #place = 0;

  constructor(rule: IdRule = COMMON) {
    this.#rule = rule;
  }

  /**
   * For the calls of one reply. `isOwn`: the reply is from the same vendor, which gets its ids back unchanged;
   * undefined if unknown (replies recorded by older versions).
   */
  give(calls: readonly MessageCall[], isOwn: boolean | undefined): readonly string[] {
    const here = new Set<string>();
    return calls.map((call) => {
      const id = this.#idOf(call, isOwn, here);
      here.add(id);
      this.#used.add(id);
      this.#place += 1;
      return id;
    });
  }

  #idOf(call: MessageCall, isOwn: boolean | undefined, here: ReadonlySet<string>): string {
    const { repeats, make } = this.#rule;
    const { provider_call_id: given, tool_call_id: ours } = call;
    const taken = isOwn === true && repeats === true ? here : this.#used;
    if (given !== undefined && !taken.has(given) && this.#fits(given, isOwn)) return given;
    if (make === undefined) return ours;
    let id = make(call, this.#place);
    for (let n = 1; this.#used.has(id); n++) id = make({ ...call, tool_call_id: `${ours} ${n}` }, this.#place + n);
    return id;
  }

  #fits(given: string, isOwn: boolean | undefined): boolean {
    const { takes, isStrict } = this.#rule;
    if (isOwn === false || isStrict === true) return takes.test(given);
    return isOwn === true || COMMON.takes.test(given);
  }
}
