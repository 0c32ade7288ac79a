import type { Message, ModelProvider, ModelRequest } from "../../model/provider.ts";

/**
 * Bytes a token. Prose has about 4, code 3 to 3.5, other scripts about 3: counted so, a text has rather fewer tokens
 * than is said here. What is denser still is met by the provider's own refusal.
 */
export const BYTES_PER_TOKEN = 3;
/** What each message costs beside its text. */
const MESSAGE_TOKENS = 8;

export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

/** Messages are never changed, so each is counted once. */
const counted = new WeakMap<Message, number>();

export function messageTokens(message: Message): number {
  const known = counted.get(message);
  if (known !== undefined) return known;
  const tokens = MESSAGE_TOKENS + estimateTokens(message.text) + attachedTokens(message);
  counted.set(message, tokens);
  return tokens;
}

/** What a large picture costs at the providers that say so. */
const IMAGE_TOKENS = 1600;

function attachedTokens(message: Message): number {
  if (message.role === "user") return (message.images?.length ?? 0) * IMAGE_TOKENS;
  if (message.role !== "assistant") return 0;
  const { calls = [], provider_parts } = message;
  const parts = provider_parts === undefined ? "" : JSON.stringify(provider_parts);
  return (
    calls.length * MESSAGE_TOKENS +
    estimateTokens(calls.length === 0 ? "" : JSON.stringify(calls)) +
    estimateTokens(parts)
  );
}

type Protocol = NonNullable<ModelProvider["protocol"]>;

/** What a request takes up of the model's window, its messages left out. In the plain protocol the system text has the tools in it. */
export function fixedTokens({ system, tools }: Pick<ModelRequest, "system" | "tools">, protocol: Protocol): number {
  return estimateTokens(system) + (protocol === "native" ? estimateTokens(JSON.stringify(tools)) : 0);
}

export function requestTokens(request: ModelRequest, protocol: Protocol): number {
  return fixedTokens(request, protocol) + sumTokens(request.messages);
}

export function sumTokens(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + messageTokens(message), 0);
}
