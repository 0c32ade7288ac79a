import { randomUUID } from "node:crypto";
import { argumentsText, isRecord, parseJson, recordOf, textOf } from "../json-values.ts";
import type { Json } from "../json-values.ts";

interface Slot {
  id: string;
  name: string;
  input: string;
  /** Fields that we only pass on, such as signatures. */
  readonly more: Map<string, unknown>;
}

const OWN: ReadonlySet<string> = new Set(["index", "id", "type", "function", "name", "arguments"]);

/** Assembles the calls of a chat completion from the pieces that servers send. */
export class ChatCalls {
  readonly #onOpened: () => void;
  readonly #slots: Slot[] = [];
  readonly #byKey = new Map<string, Slot>();
  /** The latest call per choice: pieces without an index belong to it. */
  readonly #latest = new Map<number, Slot>();

  constructor(onOpened: () => void) {
    this.#onOpened = onOpened;
  }

  /** Takes a piece; returns the number of characters that it added. */
  add(choice: number, piece: Json): number {
    const inner = recordOf(piece["function"]);
    const name = textOf(inner["name"]) || textOf(piece["name"]);
    const given = inner["arguments"] ?? inner["parameters"] ?? piece["arguments"];
    const id = textOf(piece["id"]);
    const { index } = piece;
    const key = typeof index === "number" || typeof index === "string" ? `${choice} ${index}` : undefined;
    const slot = this.#find({ choice, key, id, name }) ?? this.#open(key);
    this.#latest.set(choice, slot);
    if (slot.id === "" && id !== "") slot.id = id;
    slot.name = joinName(slot, name);
    const before = slot.input.length;
    slot.input = isRecord(given) ? JSON.stringify(given) : slot.input + argumentsText(given);
    for (const [member, value] of Object.entries(piece)) if (!OWN.has(member)) slot.more.set(member, value);
    return name.length + Math.max(0, slot.input.length - before);
  }

  #open(key: string | undefined): Slot {
    const slot: Slot = { id: "", name: "", input: "", more: new Map() };
    this.#slots.push(slot);
    this.#onOpened();
    if (key !== undefined) this.#byKey.set(key, slot);
    return slot;
  }

  /** The call that a piece belongs to. Some servers give every call the same index, or none. */
  #find(piece: {
    readonly choice: number;
    readonly key: string | undefined;
    readonly id: string;
    readonly name: string;
  }): Slot | undefined {
    const { choice, key, id, name } = piece;
    if (key === undefined) {
      const named = id === "" ? undefined : this.#slots.find((slot) => slot.id === id);
      return named ?? (id !== "" || name !== "" ? undefined : this.#latest.get(choice));
    }
    const slot = this.#byKey.get(key);
    if (slot === undefined || id === "" || name === "" || slot.id === "" || slot.id === id) return slot;
    const isComplete = slot.input.trimEnd().endsWith("}") && parseJson(slot.input) !== undefined;
    return slot.input === "" || isComplete ? undefined : slot;
  }

  /** Each call in one piece, with a generated id if the server sent none. */
  all(): readonly Json[] {
    return this.#slots.map(({ id, name, input, more }, index) => ({
      ...Object.fromEntries(more),
      index,
      id: id === "" ? `call_${randomUUID().replaceAll("-", "").slice(0, 24)}` : id,
      type: "function",
      function: { name, arguments: input },
    }));
  }
}

/** A repeated name is one name; pieces of a name are concatenated. */
function joinName({ name: before, input }: Slot, name: string): string {
  return before === "" || name === "" || before === name || input !== "" ? before || name : before + name;
}
