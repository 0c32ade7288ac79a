import type { SharedV4ProviderOptions } from "@ai-sdk/provider";

/** One piece of a reply in the order in which it came. Text and arguments stand in the message itself. */
export type ReplyPart =
  | { readonly type: "text"; readonly chars: number; readonly options?: SharedV4ProviderOptions }
  | { readonly type: "reasoning"; readonly text: string; readonly options?: SharedV4ProviderOptions }
  /** In the order of the message's calls. */
  | { readonly type: "call"; readonly options?: SharedV4ProviderOptions };

/**
 * What goes back to the provider with a reply (`provider_parts`): signed reasoning, signatures of calls.
 * Plain data, for it is recorded. Good for its maker only: no provider takes the signatures of another.
 */
export interface ProviderParts extends ChatReasoning {
  readonly maker: string;
  readonly parts: readonly ReplyPart[];
}

/** Where a reply in chat format had its reasoning. */
export interface ChatReasoning {
  /** The member of the message that held it. Left out where there was none, or other formats have their own way. */
  readonly reasoning_field?: ReasoningField;
  /** As OpenRouter and others give it, with signatures and what is encrypted; pieces of a stream put together. */
  readonly reasoning_details?: readonly unknown[];
}

/** `both`: the first two, with the same text. `content`: pieces of the content itself, of the type `thinking`. */
export type ReasoningField = "reasoning_content" | "reasoning" | "both" | "content";

/** Those of a message, where this maker made them. Our own data: it comes from a reply or from the record of one. */
export function partsFor(maker: string, provider_parts: unknown): ProviderParts {
  const given = (provider_parts ?? {}) as Partial<ProviderParts>;
  const { maker: made, parts } = given;
  return made === maker && Array.isArray(parts) ? { ...given, maker, parts } : { maker, parts: [] };
}

/** Who made a message's parts, where that is on record. */
export function makerOfParts(provider_parts: unknown): string | undefined {
  return (provider_parts as Partial<ProviderParts> | null | undefined)?.maker;
}
