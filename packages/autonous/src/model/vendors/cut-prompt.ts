import type { ModelRequest, ModelUsage } from "../provider.ts";
import { inputTokens } from "./output-limits.ts";
import { vendorsOfName } from "./vendors.ts";
import type { Vendor } from "./vendors.ts";

/** Servers that silently truncate a prompt to their context window. */
const CUTTING: ReadonlySet<Vendor> = new Set<Vendor>(["ollama", "lmstudio", "llamacpp", "other"]);
/** `inputTokens` counts 3 bytes per token, and hardly any text has more than 8. */
const MIN_SHARE = 3 / 8;
/** A lower count is not a context window, but the part that was not cached. */
const MIN_WINDOW = 1024;

/** How to raise the context window of Ollama. */
export const OLLAMA_HINT =
  "Ollama reads only the last 4096 tokens of a request by default: start it with OLLAMA_CONTEXT_LENGTH=32768, or set num_ctx for the model, and set AUTONOUS_CONTEXT_TOKENS to the same number";

interface CountedPrompt {
  readonly request: ModelRequest;
  readonly usage: ModelUsage | undefined;
  /** The count no longer grows with the request, which proves truncation. */
  readonly isSure: boolean;
}

/**
 * Warning for the user if a server counted far fewer tokens than it was sent: it truncated the prompt, mostly at the
 * start, where the instructions and the task are.
 */
export function cutPromptNotice(name: string, { request, usage, isSure }: CountedPrompt): string | undefined {
  if (usage === undefined || !name.startsWith("compatible")) return undefined;
  const { server } = vendorsOfName(name);
  const { input_tokens: counted, cached_input_tokens: cached = 0 } = usage;
  const sent = inputTokens(request);
  const isCut = CUTTING.has(server) && cached === 0 && counted >= MIN_WINDOW && counted < sent * MIN_SHARE;
  if (!isCut && !isSure) return undefined;
  const what = `The server read ${counted} tokens of a request of about ${Math.round(sent * 0.75)}: its context window is smaller, and it dropped the beginning without an error`;
  const then =
    server === "ollama" || server === "other"
      ? OLLAMA_HINT
      : "Load the model with a larger context length, and set AUTONOUS_CONTEXT_TOKENS to the same number";
  return `${what}. ${then}.`;
}
