import type { ModelRequest, ModelUsage } from "../provider.ts";
import { inputTokens } from "./output-limits.ts";
import { vendorsOfName } from "./vendors.ts";
import type { Vendor } from "./vendors.ts";

/** Servers that read as much of a prompt as fits their window and say nothing of the rest. */
const CUTTING: ReadonlySet<Vendor> = new Set<Vendor>(["ollama", "lmstudio", "llamacpp", "other"]);
/** `inputTokens` counts 3 bytes for a token, and hardly any text has more than 8. */
const LEAST_SHARE = 3 / 8;
/** What is counted lower is not a window, but what was new to the server. */
const LEAST_WINDOW = 1024;

/** What to do about the window of Ollama. */
export const OLLAMA_HINT =
  "Ollama reads only the last 4096 tokens of a request by default: start it with OLLAMA_CONTEXT_LENGTH=32768, or set num_ctx for the model, and set AUTONOUS_CONTEXT_TOKENS to the same number";

interface CountedPrompt {
  readonly request: ModelRequest;
  readonly usage: ModelUsage | undefined;
  /** Its count does not grow with the request any more: nothing else can be meant. */
  readonly isSure: boolean;
}

/**
 * What the user is told where a server counted far fewer tokens than it was sent: it cut the prompt, mostly at its
 * beginning, where the instructions and the task stand.
 */
export function cutPromptNotice(name: string, { request, usage, isSure }: CountedPrompt): string | undefined {
  if (usage === undefined || !name.startsWith("compatible")) return undefined;
  const { server } = vendorsOfName(name);
  const { input_tokens: counted, cached_input_tokens: cached = 0 } = usage;
  const sent = inputTokens(request);
  const isCut = CUTTING.has(server) && cached === 0 && counted >= LEAST_WINDOW && counted < sent * LEAST_SHARE;
  if (!isCut && !isSure) return undefined;
  const what = `The server read ${counted} tokens of a request of about ${Math.round(sent * 0.75)}: its context window is smaller, and it dropped the beginning without an error`;
  const then =
    server === "ollama" || server === "other"
      ? OLLAMA_HINT
      : "Load the model with a larger context length, and set AUTONOUS_CONTEXT_TOKENS to the same number";
  return `${what}. ${then}.`;
}
