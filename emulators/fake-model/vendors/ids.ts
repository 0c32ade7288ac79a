/** The formats of vendors' call ids. */
import type { CallPlace } from "../formats/format.ts";
import type { ReplyCall } from "../reply.ts";

type MakeId = (call: ReplyCall, place: CallPlace) => string;

/** Hexadecimal digits from the key of a call. */
function hex({ key }: ReplyCall, length: number): string {
  return Buffer.from(key).toString("hex").slice(-length);
}

function digits({ key }: ReplyCall, length: number): string {
  return BigInt(`0x${Buffer.from(key).toString("hex")}`)
    .toString()
    .slice(-length);
}

const openai: MakeId = (call) => call.id("call_");

// oxfmt-ignore
export const IDS = {
  openai,
  anthropic:  (call) => call.id("toolu_01"),
  deepseek:   (call, { index }) => `call_${String(index).padStart(2, "0")}_${call.key}`,
  // Numbered through the conversation; the model reads them.
  kimi:       ({ name }, { index, earlier }) => `functions.${name}:${earlier + index}`,
  kimi_door:  ({ name }, { index, earlier }) => `${name}:${earlier + index}`,
  qwen:       (call) => `call_${hex(call, 24)}`,
  mistral:    ({ key }) => key.slice(-9),
  xai:        (call) => `call_${digits(call, 8)}`,
  zai:        (call) => `call_-${digits(call, 19)}`,
  minimax:    ({ key }, { index }) => `call_function_${key.slice(-12).toLowerCase()}_${index + 1}`,
  // As the upstream vendor issues them.
  openrouter: (call, place) => (place.model.startsWith("anthropic/") ? call.id("toolu_01") : place.model.startsWith("google/") ? `tool_${place.index}_${call.name}_${call.key.slice(-20)}` : openai(call, place)),
  groq:       ({ key }) => key.slice(-9).toLowerCase(),
  vllm:       (call) => `chatcmpl-tool-${hex(call, 32)}`,
  ollama:     ({ key }) => `call_${key.slice(-8).toLowerCase()}`,
  lmstudio:   (call) => digits(call, 9),
  llamacpp:   ({ key }) => `${key}${key}`.slice(0, 32),
  // The index in the reply, so it repeats in the next one.
  tgi:        (_, { index }) => String(index),
  google:     (call) => `function-call-${digits(call, 19)}`,
} as const satisfies Record<string, MakeId>;
