import type { Message, ModelProvider, ModelRequest } from "../../model/provider.ts";

/**
 * Bytes per token. Prose has about 4, code 3 to 3.5, other scripts about 3, so this rather overestimates. Denser text
 * is caught by the provider's refusal.
 */
export const BYTES_PER_TOKEN = 3;
/** Overhead per message. */
const MESSAGE_TOKENS = 8;

export function estimateTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

/** Messages are immutable, so each is counted once. */
const counted = new WeakMap<Message, number>();

export function messageTokens(message: Message): number {
  const known = counted.get(message);
  if (known !== undefined) return known;
  const tokens = MESSAGE_TOKENS + estimateTokens(message.text) + attachedTokens(message);
  counted.set(message, tokens);
  return tokens;
}

/** Cost of a large image at providers that publish it. */
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

/** Tokens of a request without its messages. In the plain protocol, the system text contains the tools. */
export function fixedTokens({ system, tools }: Pick<ModelRequest, "system" | "tools">, protocol: Protocol): number {
  return estimateTokens(system) + (protocol === "native" ? estimateTokens(JSON.stringify(tools)) : 0);
}

export function requestTokens(request: ModelRequest, protocol: Protocol): number {
  return fixedTokens(request, protocol) + sumTokens(request.messages);
}

export function sumTokens(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + messageTokens(message), 0);
}
