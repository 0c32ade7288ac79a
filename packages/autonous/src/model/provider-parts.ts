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
export interface ProviderParts {
  readonly maker: string;
  readonly parts: readonly ReplyPart[];
}

/** Those of a message, where this maker made them. Our own data: it comes from a reply or from the record of one. */
export function partsFor(maker: string, provider_parts: unknown): readonly ReplyPart[] {
  const { maker: made, parts } = (provider_parts ?? {}) as Partial<ProviderParts>;
  return made === maker && Array.isArray(parts) ? (parts as readonly ReplyPart[]) : [];
}
