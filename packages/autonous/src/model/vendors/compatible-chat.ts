import type { LanguageModelV4, LanguageModelV4Prompt, SharedV4ProviderOptions } from "@ai-sdk/provider";
import { ChatReasoningReader } from "./chat-reasoning.ts";
import type { Vendors } from "./vendors.ts";

/** Key for extra request fields in the library. */
export const CHAT = "compatible";
/** Key for extra message fields in the library. */
const MEMBERS = "openaiCompatible";

interface ChatServer {
  readonly model: string;
  readonly key?: string;
  readonly base_url: string;
  readonly fetch: typeof globalThis.fetch;
  readonly vendors: Vendors;
}

/** A model on a server with OpenAI's chat format, with features that the library lacks. */
export async function createCompatible({ model, key, base_url, fetch, vendors }: ChatServer): Promise<LanguageModelV4> {
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
  const provider = createOpenAICompatible({
    name: CHAT,
    baseURL: base_url,
    ...(key === undefined ? {} : { apiKey: key }),
    fetch,
    includeUsage: true,
    metadataExtractor: {
      // We only stream.
      extractMetadata: () => Promise.resolve(undefined),
      createStreamExtractor: () => {
        const reader = new ChatReasoningReader();
        return { processChunk: (chunk) => reader.take(chunk), buildMetadata: () => reader.metadata() };
      },
    },
    ...(chatCacheMark(vendors, model) === undefined ? {} : { transformRequestBody: marksOnParts }),
  });
  return provider(model);
}

/** Non-standard fields of a message in the request. */
export function chatMembers(members: SharedV4ProviderOptions[string]): SharedV4ProviderOptions {
  return { [MEMBERS]: members };
}

/** Non-standard fields of the request. `reasoningEffort` is the library's name for `reasoning_effort`. */
export function chatOptions(options: SharedV4ProviderOptions[string]): SharedV4ProviderOptions {
  return { [CHAT]: options };
}

/** Claude caches nothing without marks, on any server. Gateways call it `anthropic/claude-…`. */
export function chatCacheMark({ server, maker }: Vendors, model: string): SharedV4ProviderOptions | undefined {
  if (maker !== "anthropic") return undefined;
  const isGateway = server === "other" && /^(?:anthropic|bedrock|vertex_ai)\//.test(model);
  const takesMarks = server === "openrouter" || server === "litellm" || isGateway;
  return takesMarks ? chatMembers({ cache_control: { type: "ephemeral" } }) : undefined;
}

/** Marks are on messages, but the library forwards only those on parts. */
export function markParts(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt {
  return prompt.map((message) => {
    const { providerOptions } = message;
    if (providerOptions?.[MEMBERS]?.["cache_control"] === undefined) return message;
    if (message.role === "user") return { ...message, content: markLast(message.content, providerOptions) };
    if (message.role === "tool") return { ...message, content: markLast(message.content, providerOptions) };
    return message;
  });
}

function markLast<Part extends object>(parts: readonly Part[], providerOptions: SharedV4ProviderOptions): Part[] {
  return parts.map((part, index) => (index === parts.length - 1 ? { ...part, providerOptions } : part));
}

type Json = Record<string, unknown>;

/**
 * Moves marks of messages to the last part of their content: servers do not answer if the mark is next to the content.
 * All texts become parts, so that a message is identical with and without a mark.
 */
function marksOnParts(body: Json): Json {
  const messages = (body["messages"] as readonly Json[]).map((message) => {
    const { cache_control, ...rest } = message;
    const { role, content } = rest;
    if (role === "assistant") return rest;
    const parts: readonly Json[] =
      typeof content === "string" ? [{ type: "text", text: content }] : (content as Json[]);
    const mark = cache_control === undefined ? {} : { cache_control };
    return { ...rest, content: parts.map((part, i) => (i === parts.length - 1 ? { ...part, ...mark } : part)) };
  });
  return { ...body, messages };
}
