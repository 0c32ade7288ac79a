import type { SharedV4ProviderOptions } from "@ai-sdk/provider";

/** One part of a reply, in original order. Text and arguments are in the message itself. */
export type ReplyPart =
  | { readonly type: "text"; readonly chars: number; readonly options?: SharedV4ProviderOptions }
  | { readonly type: "reasoning"; readonly text: string; readonly options?: SharedV4ProviderOptions }
  /** In the order of the message's calls. */
  | { readonly type: "call"; readonly options?: SharedV4ProviderOptions };

/**
 * Data sent back to the provider with a reply (`provider_parts`): signed reasoning, signatures of calls. Plain data,
 * because it is recorded. Valid only for its provider: no provider accepts the signatures of another.
 */
export interface ProviderParts extends ChatReasoning {
  readonly maker: string;
  readonly parts: readonly ReplyPart[];
}

/** Where the reasoning was in a reply in chat format. */
export interface ChatReasoning {
  /** The field of the message. Omitted if it had none, and for other formats. */
  readonly reasoning_field?: ReasoningField;
  /** Details of OpenRouter and others, with signatures and encrypted parts; merged from the pieces of a stream. */
  readonly reasoning_details?: readonly unknown[];
}

/** `both`: the first two, with the same text. `content`: parts of the content with the type `thinking`. */
export type ReasoningField = "reasoning_content" | "reasoning" | "both" | "content";

/** The parts of a message, if this provider made them. Trusted: from a reply or its record. */
export function partsFor(maker: string, provider_parts: unknown): ProviderParts {
  const given = (provider_parts ?? {}) as Partial<ProviderParts>;
  const { maker: made, parts } = given;
  return made === maker && Array.isArray(parts) ? { ...given, maker, parts } : { maker, parts: [] };
}

/** The provider that made a message's parts, if recorded. */
export function makerOfParts(provider_parts: unknown): string | undefined {
  return (provider_parts as Partial<ProviderParts> | null | undefined)?.maker;
}
