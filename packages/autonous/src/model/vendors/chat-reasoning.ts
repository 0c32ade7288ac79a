import type { JSONValue, SharedV4ProviderMetadata } from "@ai-sdk/provider";
import type { ChatReasoning, ProviderParts, ReasoningField } from "../provider-parts.ts";
import type { Vendor, Vendors } from "./vendors.ts";
import { recordOf } from "../json-values.ts";
import type { Json } from "../json-values.ts";

/** What of a reply's reasoning goes back in chat format, where there is no standard for it. */
interface ReasoningRule {
  readonly when: "always" | "with_calls" | "never";
  /** Where the record does not say in which member it came. */
  readonly field?: ReasoningField;
  /** The only member that the server takes; it refuses requests with others. */
  readonly only?: ReasoningField;
  /** Stands where there is none: the server refuses a reply without it. */
  readonly missing?: { readonly text: string; readonly on: "calls" | "all" };
}

/** The model continues its reasoning after its calls. Sent in the member in which it came. */
const OTHERS: ReasoningRule = { when: "with_calls", field: "reasoning_content" };
const NEVER: ReasoningRule = { when: "never" };

/** By the server, where that decides: some refuse members that they do not know. */
// oxfmt-ignore
const SERVERS: Partial<Record<Vendor, ReasoningRule>> = {
  openai:     NEVER,
  google:     NEVER,
  copilot:    NEVER,
  xai:        NEVER,
  tgi:        NEVER,
  qwen:       NEVER,
  mistral:    { when: "always", only: "content" },
  groq:       { when: "with_calls", only: "reasoning" },
  openrouter: { when: "always", field: "reasoning" },
};

/** By the maker of the model, behind any other server. */
// oxfmt-ignore
const MAKERS: Partial<Record<Vendor, ReasoningRule>> = {
  // "The reasoning_content in the thinking mode must be passed back": of all replies of a turn with calls, from then on.
  deepseek:  { when: "always", field: "reasoning_content", missing: { text: "", on: "all" } },
  // "thinking is enabled but reasoning_content is missing in assistant tool call message". Some releases want a sign in it.
  kimi:      { when: "always", field: "reasoning_content", missing: { text: " ", on: "calls" } },
  zai:       { when: "always", field: "reasoning_content" },
  minimax:   { when: "always", field: "reasoning_content" },
  "gpt-oss": { when: "with_calls", field: "reasoning" },
};

export function reasoningRule({ server, maker }: Vendors): ReasoningRule {
  return SERVERS[server] ?? MAKERS[maker] ?? OTHERS;
}

/** Makers that sign their reasoning: without `reasoning_details`, which hold the signature, they refuse it. */
const SIGNING: ReadonlySet<Vendor> = new Set<Vendor>(["anthropic", "openai", "google"]);

interface Replied {
  readonly parts: ProviderParts;
  readonly text: string;
  readonly hasCalls: boolean;
}

/** Builds the members of assistant messages that hold the model's reasoning. One for each request. */
export class ChatReasoningWriter {
  readonly #vendors: Vendors;
  readonly #rule: ReasoningRule;
  /** Ids of details: no id may come twice in a request, and some servers give the same one again. */
  readonly #ids = new Set<string>();

  constructor(vendors: Vendors) {
    this.#vendors = vendors;
    this.#rule = reasoningRule(vendors);
  }

  membersOf({ parts, text, hasCalls }: Replied): Record<string, JSONValue> {
    const { when, missing } = this.#rule;
    if (when === "never") return {};
    const isDue = when === "always" || hasCalls;
    const details = isDue ? this.#details(parts.reasoning_details ?? []) : [];
    const reasoning = parts.parts.map((part) => (part.type === "reasoning" ? part.text : "")).join("");
    const isSaid = isDue && this.#isSaid(parts);
    const shown = isSaid ? this.#inField(reasoning, { text, field: parts.reasoning_field }) : {};
    const isWanting = missing !== undefined && (missing.on === "all" || hasCalls);
    const isThere = Object.keys(shown).length > 0 || details.length > 0;
    return {
      ...shown,
      ...(details.length === 0 ? {} : { reasoning_details: details as JSONValue[] }),
      ...(isWanting && !isThere ? { reasoning_content: missing.text } : {}),
    };
  }

  /** Not where details say the same, with signatures; OpenRouter wants one of both. */
  #isSaid({ reasoning_details: details = [], reasoning_field: field }: ProviderParts): boolean {
    const { server, maker } = this.#vendors;
    if (server === "openrouter") return details.length === 0 && !SIGNING.has(maker);
    return details.length === 0 || field !== undefined;
  }

  #inField(
    reasoning: string,
    { text, field: came }: { readonly text: string; readonly field: ReasoningField | undefined },
  ): Record<string, JSONValue> {
    const { only, missing, field: usual = "reasoning_content" } = this.#rule;
    // Whoever refuses a reply without its member reads no parts of content.
    const field = came === undefined || (came === "content" && missing !== undefined) ? usual : came;
    if (reasoning === "" || (only !== undefined && field !== only && field !== "both")) return {};
    if (field !== "content") {
      const names = only === undefined ? NAMES[field] : [only];
      return Object.fromEntries(names.map((name) => [name, reasoning]));
    }
    const said = text.trim() === "" ? [] : [{ type: "text", text }];
    return { content: [{ type: "thinking", thinking: [{ type: "text", text: reasoning }] }, ...said] };
  }

  #details(given: readonly unknown[]): readonly unknown[] {
    return given.filter((detail) => {
      const { id, format, type, signature } = detail as Readonly<Record<string, unknown>>;
      // Claude refuses reasoning without its signature, as a reply that broke off or was cut leaves it.
      if (format === "anthropic-claude-v1" && type === "reasoning.text" && !signature) return false;
      if (typeof id !== "string" || id === "") return true;
      const isNew = !this.#ids.has(`${String(type)} ${id}`);
      this.#ids.add(`${String(type)} ${id}`);
      return isNew;
    });
  }
}

const NAMES = {
  reasoning_content: ["reasoning_content"],
  reasoning: ["reasoning"],
  both: ["reasoning_content", "reasoning"],
};

/** Under which name the metadata of a finished stream holds what is read here. */
const METADATA = "chat_reasoning";

/** What a finished stream said about its reasoning, besides its text. */
export function readChatReasoning(metadata: SharedV4ProviderMetadata | undefined): ChatReasoning {
  return metadata?.[METADATA] ?? {};
}

/** Reads from the pieces of a stream what the library leaves out. */
export class ChatReasoningReader {
  #field: ReasoningField | undefined;
  readonly #details: Json[] = [];
  /** Details that grow, by type and index: where they stand. */
  readonly #open = new Map<string, number>();

  take(chunk: unknown): void {
    for (const choice of listOf(recordOf(chunk)["choices"]).slice(0, 1)) {
      const said = recordOf(recordOf(choice)["delta"]);
      this.#field ??= FIELDS.find((each) => each === said["reasoning_field"]);
      for (const detail of listOf(said["reasoning_details"])) this.#add(recordOf(detail));
    }
  }

  metadata(): SharedV4ProviderMetadata {
    const about: ChatReasoning = {
      ...(this.#field === undefined ? {} : { reasoning_field: this.#field }),
      ...(this.#details.length === 0 ? {} : { reasoning_details: this.#details }),
    };
    return { [METADATA]: about as SharedV4ProviderMetadata[string] };
  }

  /** Text comes in pieces, with its signature at the end; what is encrypted comes at once. */
  #add(detail: Json): void {
    const { type, index, id } = detail;
    if (typeof type !== "string") return;
    const key = `${type} ${String(index)}`;
    const at = this.#open.get(key);
    const before = at === undefined ? undefined : this.#details[at];
    const isSame = before !== undefined && (before["id"] ?? id ?? null) === (id ?? before["id"] ?? null);
    if (at !== undefined && before !== undefined && isSame && !before["signature"] && type !== "reasoning.encrypted") {
      this.#details[at] = joined(before, detail);
      return;
    }
    this.#open.set(key, this.#details.length);
    this.#details.push(detail);
  }
}

const GROWING = ["text", "summary"] as const;

function joined(before: Json, more: Json): Json {
  const told = Object.entries(more).filter(([, value]) => value !== null && value !== undefined);
  const grown = GROWING.flatMap((name) => {
    const pieces = [before[name], more[name]].filter((each) => typeof each === "string");
    return pieces.length === 0 ? [] : [[name, pieces.join("")]];
  });
  return { ...before, ...Object.fromEntries(told), ...Object.fromEntries(grown) };
}

const FIELDS: readonly ReasoningField[] = ["reasoning_content", "reasoning", "both", "content"];

/** The member of a piece of a reply that holds its reasoning. The reader of the stream notes it as `reasoning_field`. */
export function reasoningField({
  reasoning_content: first,
  reasoning: second,
  content,
}: Json): ReasoningField | undefined {
  const isThere = (value: unknown): boolean => typeof value === "string" && value !== "";
  if (isThere(first)) return isThere(second) ? "both" : "reasoning_content";
  if (isThere(second)) return "reasoning";
  return listOf(content).some((part) => recordOf(part)["type"] === "thinking") ? "content" : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
