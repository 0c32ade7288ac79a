import type { LanguageModelV4FunctionTool, LanguageModelV4Prompt, SharedV4ProviderOptions } from "@ai-sdk/provider";

/** Parts of a request in the order of the cache: tools, system text, messages. */
interface MarkedPrompt {
  readonly prompt: LanguageModelV4Prompt;
  readonly tools: LanguageModelV4FunctionTool[];
}

interface MarkOptions {
  /** Undefined: the provider needs no marks, or the request is not repeated. */
  readonly mark: SharedV4ProviderOptions | undefined;
  /** Messages up to which the prompt is stable for longer. */
  readonly stable: readonly number[];
}

/** Anthropic's maximum. */
const MAX_MARKS = 4;

/**
 * Marks what the provider should cache: the end, the system text, the stable part of the window, and the end of the
 * previous request, where the cache surely matches: a lookup goes back at most 20 blocks from a mark, and one turn may
 * have more. A remaining mark of the four goes to the tools, which the mark of the system text covers too.
 */
export function withMarks({ prompt, tools }: MarkedPrompt, { mark, stable }: MarkOptions): MarkedPrompt {
  if (mark === undefined) return { prompt, tools };
  const ends = prompt.flatMap(({ role }, index) => {
    const isEnd = (role === "user" || role === "tool") && ["assistant", undefined].includes(prompt[index + 1]?.role);
    return isEnd ? [index] : [];
  });
  // Assistant messages have options with data for the provider.
  const held = stable.filter((index) => prompt[index]?.role !== "assistant");
  const wanted = [...ends.slice(-1), ...systemOf(prompt), ...held, ...ends.slice(-2, -1)];
  const marked = new Set([...new Set(wanted)].slice(0, MAX_MARKS));
  const last = marked.size < MAX_MARKS ? tools.length - 1 : -1;
  return {
    prompt: prompt.map((message, index) => (marked.has(index) ? { ...message, providerOptions: mark } : message)),
    tools: tools.map((tool, index) => (index === last ? { ...tool, providerOptions: mark } : tool)),
  };
}

function systemOf(prompt: LanguageModelV4Prompt): readonly number[] {
  return prompt.flatMap(({ role }, index) => (role === "system" ? [index] : [])).slice(-1);
}
