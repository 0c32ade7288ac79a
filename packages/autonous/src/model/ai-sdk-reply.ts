import type {
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  SharedV4ProviderMetadata,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import { readChatReasoning } from "./vendors/chat-reasoning.ts";
import { AttemptFailed } from "./failures/model-failure.ts";
import type { ProviderParts, ReplyPart } from "./provider-parts.ts";
import type { CompleteOptions, ModelReply, NativeCall } from "./provider.ts";
import type { ToolNames } from "./prompt/tool-names.ts";

interface ReplyOptions extends Pick<CompleteOptions, "onDelta"> {
  /** Of `provider_parts`. */
  readonly maker: string;
  readonly names: ToolNames;
}

type FinishPart = Extract<LanguageModelV4StreamPart, { type: "finish" }>;
type NativeReply = Extract<ModelReply, { kind: "native" }>;

type SpokenType = `${"text" | "reasoning"}-${"start" | "delta" | "end"}`;
type SpokenPart = Extract<LanguageModelV4StreamPart, { type: SpokenType }>;
const SPOKEN: ReadonlySet<string> = new Set<SpokenType>([
  "text-start",
  "text-delta",
  "text-end",
  "reasoning-start",
  "reasoning-delta",
  "reasoning-end",
]);

/** A growing block of text or reasoning, or a call. */
type Block =
  | { readonly type: "text" | "reasoning"; text: string; options?: SharedV4ProviderOptions }
  | { readonly type: "call"; readonly call: LanguageModelV4ToolCall; options?: SharedV4ProviderOptions };

/** Finish reasons that the library does not know and that mean a normal end. */
const DONE: ReadonlySet<string> = new Set(["eos", "eos_token", "end_turn", "stop_sequence", "end"]);

/**
 * Reads a stream to completion. If the reply broke off, was stopped by a filter or contains an error, throws what the
 * provider sent or `AttemptFailed`; no part of the reply is used.
 */
export async function readReply(
  stream: AsyncIterable<LanguageModelV4StreamPart>,
  { maker, names, onDelta }: ReplyOptions,
): Promise<NativeReply> {
  const all: Block[] = [];
  const open = new Map<string, Block>();
  let finish: FinishPart | undefined;
  for await (const part of stream) {
    if (part.type === "error") throw part.error;
    if (part.type === "finish") finish = part;
    const delta = takePart(part, all, open);
    if (delta !== undefined && delta.text !== "") onDelta?.(delta);
  }
  const ended = readFinish(finish);
  const blocks = withoutRepeated(all);
  const calls = readCalls(blocks, names);
  const text = blocks.map((block) => (block.type === "text" ? block.text : "")).join("");
  const chat = readChatReasoning(finish?.providerMetadata);
  const isTold = calls.length > 0 || chat.reasoning_field !== undefined;
  const parts = readParts(blocks, isTold);
  const provider_parts: ProviderParts = { maker, parts, ...chat };
  const isOfUse = parts.some(({ type, options }) => type === "reasoning" || options !== undefined);
  return {
    kind: "native",
    text,
    calls,
    finish: ended,
    ...(isOfUse || chat.reasoning_details !== undefined ? { provider_parts } : {}),
  };
}

/** Adds a part to the blocks; returns the text to show. */
function takePart(
  part: LanguageModelV4StreamPart,
  blocks: Block[],
  open: Map<string, Block>,
): { readonly kind: "text" | "reasoning"; readonly text: string } | undefined {
  if (part.type === "tool-call") {
    // We offer no provider-executed tools.
    if (part.providerExecuted !== true) blocks.push(withOptions({ type: "call", call: part }, part.providerMetadata));
    return undefined;
  }
  if (!isSpoken(part)) return undefined;
  const kind = part.type.startsWith("text-") ? "text" : "reasoning";
  const key = `${kind} ${part.id}`;
  let block = part.type.endsWith("-start") ? undefined : open.get(key);
  if (block === undefined) {
    block = { type: kind, text: "" };
    blocks.push(block);
    open.set(key, block);
  }
  if (block.type !== "call" && "delta" in part) block.text += part.delta;
  withOptions(block, part.providerMetadata);
  return "delta" in part ? { kind, text: part.delta } : undefined;
}

function isSpoken(part: LanguageModelV4StreamPart): part is SpokenPart {
  return SPOKEN.has(part.type);
}

/** Later options extend earlier ones: a signature arrives after the text that it signs. */
function withOptions(block: Block, metadata: SharedV4ProviderMetadata | undefined): Block {
  if (metadata === undefined) return block;
  const merged: SharedV4ProviderOptions = { ...block.options };
  for (const [provider, values] of Object.entries(metadata)) merged[provider] = { ...merged[provider], ...values };
  block.options = merged;
  return block;
}

function readFinish(finish: FinishPart | undefined): ModelReply["finish"] {
  const { unified = "other", raw } = finish?.finishReason ?? {};
  if (unified === "stop" || unified === "tool-calls") return "stop";
  if (unified === "length") return "length";
  if (unified === "content-filter") {
    throw new AttemptFailed({
      reason: "content_filter",
      message: `the reply was stopped (${raw ?? "content filter"})`,
    });
  }
  if (unified === "other" && raw !== undefined && DONE.has(raw.toLowerCase())) return "stop";
  const why = raw === undefined ? "it broke off" : `it ended with "${raw.slice(0, 100)}"`;
  throw new AttemptFailed({ reason: "cut_off", message: `incomplete reply: ${why}` });
}

/** The same call with the same id is a duplicate. */
function withoutRepeated(blocks: readonly Block[]): readonly Block[] {
  const seen = new Set<string>();
  return blocks.filter((block) => {
    if (block.type !== "call") return true;
    const { toolCallId, toolName, input } = block.call;
    const key = JSON.stringify([toolCallId, toolName, input]);
    return !seen.has(key) && seen.add(key);
  });
}

function readCalls(blocks: readonly Block[], names: ToolNames): readonly NativeCall[] {
  const used = new Set<string>();
  return blocks.flatMap((block) => {
    if (block.type !== "call") return [];
    const { toolCallId, toolName, input } = block.call;
    let id = toolCallId;
    for (let n = 2; used.has(id); n++) id = `${toolCallId}_${n}`;
    used.add(id);
    // Models often write a call without arguments as an empty string.
    return [{ id, name: names.fromWire(toolName), input: input.trim() === "" ? "{}" : input }];
  });
}

/** `isTold`: unsigned reasoning may be sent back, with calls or to a server that requires it. */
function readParts(blocks: readonly Block[], isTold: boolean): readonly ReplyPart[] {
  return blocks.flatMap((block): readonly ReplyPart[] => {
    const options = block.options === undefined ? {} : { options: block.options };
    if (block.type === "call") return [{ type: "call", ...options }];
    if (block.type === "text") return block.text === "" ? [] : [{ type: "text", chars: block.text.length, ...options }];
    const isKept = block.options !== undefined || (isTold && block.text !== "");
    return isKept ? [{ type: "reasoning", text: block.text, ...options }] : [];
  });
}
