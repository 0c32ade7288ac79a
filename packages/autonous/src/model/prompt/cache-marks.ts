import type { LanguageModelV4FunctionTool, LanguageModelV4Prompt, SharedV4ProviderOptions } from "@ai-sdk/provider";

/** Of one request, in the order in which it is read: tools, system text, messages. */
interface MarkedPrompt {
  readonly prompt: LanguageModelV4Prompt;
  readonly tools: LanguageModelV4FunctionTool[];
}

interface MarkOptions {
  /** Undefined: the provider needs no marks, or what is sent is not sent again. */
  readonly mark: SharedV4ProviderOptions | undefined;
  /** Messages of the prompt up to which it stays as it is for longer than what follows. */
  readonly stable: readonly number[];
}

/** Anthropic refuses more. */
const MOST_MARKS = 4;

/**
 * Marks what the provider is to keep: the end, the system text, where the window is stable, and the end of the request
 * before this one, where the cache is sure to match: a lookup goes back 20 blocks from a mark and no further, and one turn
 * may have more. What is left of the four marks goes to the tools, which the mark of the system text covers too.
 */
export function withMarks({ prompt, tools }: MarkedPrompt, { mark, stable }: MarkOptions): MarkedPrompt {
  if (mark === undefined) return { prompt, tools };
  const ends = prompt.flatMap(({ role }, index) => {
    const isEnd = (role === "user" || role === "tool") && ["assistant", undefined].includes(prompt[index + 1]?.role);
    return isEnd ? [index] : [];
  });
  // Those of the model's own hold what it wants back.
  const held = stable.filter((index) => prompt[index]?.role !== "assistant");
  const wanted = [...ends.slice(-1), ...systemOf(prompt), ...held, ...ends.slice(-2, -1)];
  const marked = new Set([...new Set(wanted)].slice(0, MOST_MARKS));
  const last = marked.size < MOST_MARKS ? tools.length - 1 : -1;
  return {
    prompt: prompt.map((message, index) => (marked.has(index) ? { ...message, providerOptions: mark } : message)),
    tools: tools.map((tool, index) => (index === last ? { ...tool, providerOptions: mark } : tool)),
  };
}

function systemOf(prompt: LanguageModelV4Prompt): readonly number[] {
  return prompt.flatMap(({ role }, index) => (role === "system" ? [index] : [])).slice(-1);
}
