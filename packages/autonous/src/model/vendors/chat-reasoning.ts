import type { JSONValue, SharedV4ProviderMetadata } from "@ai-sdk/provider";
import type { ChatReasoning, ProviderParts, ReasoningField } from "../provider-parts.ts";
import type { Vendor, Vendors } from "./vendors.ts";
import { recordOf } from "../json-values.ts";
import type { Json } from "../json-values.ts";

/** Which reasoning is sent back in chat format, which has no standard for it. */
interface ReasoningRule {
  readonly when: "always" | "with_calls" | "never";
  /** The field to use if the original one was not recorded. */
  readonly field?: ReasoningField;
  /** The only field that the server accepts; it rejects requests with others. */
  readonly only?: ReasoningField;
  /** Sent if a reply has no reasoning: the server rejects replies without it. */
  readonly missing?: { readonly text: string; readonly on: "calls" | "all" };
}

/** The model continues its reasoning after its calls. Sent in the original field. */
const OTHERS: ReasoningRule = { when: "with_calls", field: "reasoning_content" };
const NEVER: ReasoningRule = { when: "never" };

/** By server, if that decides: some reject unknown fields. */
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

/** By maker of the model, on any other server. */
// oxfmt-ignore
const MAKERS: Partial<Record<Vendor, ReasoningRule>> = {
  // "The reasoning_content in the thinking mode must be passed back": of all replies of a turn with calls, from then
  // on.
  deepseek:  { when: "always", field: "reasoning_content", missing: { text: "", on: "all" } },
  // "thinking is enabled but reasoning_content is missing in assistant tool call message". Some releases want a sign in
  // it.
  kimi:      { when: "always", field: "reasoning_content", missing: { text: " ", on: "calls" } },
  zai:       { when: "always", field: "reasoning_content" },
  minimax:   { when: "always", field: "reasoning_content" },
  "gpt-oss": { when: "with_calls", field: "reasoning" },
};

export function reasoningRule({ server, maker }: Vendors): ReasoningRule {
  return SERVERS[server] ?? MAKERS[maker] ?? OTHERS;
}

/** Makers that sign their reasoning and reject it without `reasoning_details`, which contain the signature. */
const SIGNING: ReadonlySet<Vendor> = new Set<Vendor>(["anthropic", "openai", "google"]);

interface ReplyParts {
  readonly parts: ProviderParts;
  readonly text: string;
  readonly hasCalls: boolean;
}

/** Builds the reasoning fields of assistant messages. One instance per request. */
export class ChatReasoningWriter {
  readonly #vendors: Vendors;
  readonly #rule: ReasoningRule;
  /** Ids of details: they must be unique per request, but some servers repeat them. */
  readonly #ids = new Set<string>();

  constructor(vendors: Vendors) {
    this.#vendors = vendors;
    this.#rule = reasoningRule(vendors);
  }

  membersOf({ parts, text, hasCalls }: ReplyParts): Record<string, JSONValue> {
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

  /** Not if signed details have the same content: OpenRouter requires only one of them. */
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
    // Servers that require the field do not read content parts.
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
      // Claude rejects unsigned reasoning, which truncated replies contain.
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

/** Key of this data in the metadata of a finished stream. */
const METADATA = "chat_reasoning";

/** Reasoning data of a finished stream, other than its text. */
export function readChatReasoning(metadata: SharedV4ProviderMetadata | undefined): ChatReasoning {
  return metadata?.[METADATA] ?? {};
}

/** Extracts data from stream chunks that the library ignores. */
export class ChatReasoningReader {
  #field: ReasoningField | undefined;
  readonly #details: Json[] = [];
  /** Positions of growing details, by type and index. */
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

  /** Text arrives in pieces, with its signature at the end; encrypted data arrives at once. */
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

/** The field of a chunk that contains reasoning. The stream reader stores it as `reasoning_field`. */
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
