import type {
  JSONSchema7,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from "@ai-sdk/provider";
import { withMarks } from "./cache-marks.ts";
import { CONTINUE, makePlainPrompt, resultMessage } from "./plain-messages.ts";
import { CallIds } from "./call-ids.ts";
import { makerOfParts, partsFor } from "../provider-parts.ts";
import type { ReplyPart } from "../provider-parts.ts";
import type { Message, MessageCall, MessageImage, ModelRequest, ModelTool } from "../provider.ts";
import { mapToolNames } from "./tool-names.ts";
import type { ToolNames } from "./tool-names.ts";
import type { Habits } from "../vendors/vendor-habits.ts";

export interface PromptOptions {
  /** The provider whose `provider_parts` are sent back. */
  readonly maker: string;
  /** Marks the end of what the provider should cache for the next request, if it needs marks. */
  readonly cacheMark?: SharedV4ProviderOptions;
  /** Failed results are marked; otherwise only their text says so. */
  readonly marksErrors?: true;
  /** Whether images are sent. */
  readonly takesImages?: true;
  /** Habits of the vendor that gets the request. Default: what every vendor accepts. */
  readonly habits?: Habits;
}

interface WirePrompt {
  readonly prompt: LanguageModelV4Prompt;
  readonly tools: LanguageModelV4FunctionTool[];
  readonly names: ToolNames;
}

type AssistantMessage = Extract<Message, { role: "assistant" }>;
type ToolMessage = Extract<Message, { role: "tool" }>;
type AssistantContent = Extract<LanguageModelV4Message, { role: "assistant" }>["content"];

const NO_RESULT = "No result: the call was not made";
const NO_OUTPUT = "(no output)";

/**
 * A request in the form that providers accept: no empty content, every call directly followed by one result, no result
 * without its call, the first and last message from the user. Without tools everything is written as text, because
 * providers reject calls without tools.
 */
export function makePrompt(request: ModelRequest, options: PromptOptions): WirePrompt {
  const { system, messages, purpose = "round", stable_until = [] } = request;
  const names = mapToolNames(request.tools.map(({ name }) => name));
  // A side question is asked once: caching it would cost money without a cache hit.
  const mark = purpose === "round" ? options.cacheMark : undefined;
  if (request.tools.length === 0) {
    return { ...withMarks({ prompt: makePlainPrompt(request), tools: [] }, { mark, stable: [] }), names };
  }
  const { turns, ends } = makeTurns(messages, { ...options, names });
  const first: LanguageModelV4Prompt = system.trim() === "" ? [] : [{ role: "system", content: system }];
  const stable = stable_until.flatMap((place) => ends.get(place) ?? []).map((end) => first.length + end);
  const tools = makeTools(request.tools, names);
  return { ...withMarks({ prompt: [...first, ...turns], tools }, { mark, stable }), names };
}

function makeTools(tools: readonly ModelTool[], names: ToolNames): LanguageModelV4FunctionTool[] {
  return tools.map(({ name, description, args_schema }) => ({
    type: "function",
    name: names.toWire(name),
    description,
    inputSchema: args_schema as JSONSchema7,
  }));
}

interface TurnOptions extends PromptOptions {
  readonly names: ToolNames;
}

interface Turns {
  readonly turns: LanguageModelV4Prompt;
  /** The turn that ends before a message, by the message's place. */
  readonly ends: ReadonlyMap<number, number>;
}

function makeTurns(messages: readonly Message[], options: TurnOptions): Turns {
  const turns: LanguageModelV4Prompt = [];
  const ends = new Map<number, number>();
  const ids = options.habits?.ids ?? new CallIds();
  const bridge = options.habits?.bridge;
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at];
    if (message === undefined) continue;
    if (message.role === "assistant" && turns.length > 0) ends.set(at, turns.length - 1);
    if (message.role === "user")
      addUser(turns, message.text, { bridge, images: options.takesImages === true ? message.images : [] });
    // A result without its call directly before it: the call was made by a model with another protocol.
    if (message.role === "tool") addUser(turns, resultMessage(message), { bridge });
    if (message.role !== "assistant") continue;
    const results = resultsAfter(messages, at);
    if (addAssistant(turns, { message, results, ids }, options)) at += results.length;
  }
  if (turns.at(-1)?.role === "assistant" || turns.length === 0) addUser(turns, CONTINUE);
  return { turns, ends };
}

function resultsAfter(messages: readonly Message[], at: number): readonly ToolMessage[] {
  const results: ToolMessage[] = [];
  for (let next = at + 1; next < messages.length; next++) {
    const message = messages[next];
    if (message?.role !== "tool") break;
    results.push(message);
  }
  return results;
}

interface Beside {
  readonly images?: readonly MessageImage[] | undefined;
  /** Assistant text between results and the user's message. */
  readonly bridge?: string | undefined;
}

/** Consecutive user messages are merged: many servers require alternating roles. Images come before the text. */
function addUser(turns: LanguageModelV4Prompt, text: string, { images = [], bridge }: Beside = {}): void {
  if (text.trim() === "" && images.length === 0) return;
  if (bridge !== undefined && turns.at(-1)?.role === "tool")
    turns.push({ role: "assistant", content: [{ type: "text", text: bridge }] });
  const last = turns.at(-1);
  const before = last?.role === "user" ? last.content : [];
  if (before.length > 0) turns.pop();
  const said = [...before.flatMap((part) => (part.type === "text" ? [part.text] : [])), text].filter(
    (each) => each.trim() !== "",
  );
  const shown = images.map(
    ({ media_type: mediaType, data }) => ({ type: "file", mediaType, data: { type: "data", data } }) as const,
  );
  const files = [...before.filter(({ type }) => type === "file"), ...shown];
  const words = said.length === 0 ? [] : [{ type: "text", text: said.join("\n\n") } as const];
  turns.push({ role: "user", content: [...files, ...words] });
}

interface SpokenMessage {
  readonly message: AssistantMessage;
  readonly results: readonly ToolMessage[];
  /** Assigns ids. Some servers restart numbering in every reply, and most reject duplicate ids. */
  readonly ids: CallIds;
}

/** Adds a reply and the results of its calls, if any; returns whether it has used them. */
function addAssistant(turns: LanguageModelV4Prompt, spoken: SpokenMessage, options: TurnOptions): boolean {
  const { maker, names, habits } = options;
  const { message, results, ids } = spoken;
  const { calls = [], text } = message;
  const parts = partsFor(maker, message.provider_parts);
  const made = message.maker ?? makerOfParts(message.provider_parts);
  const told = calls.map((call) => ({ ...call, name: names.toWire(call.name) }));
  const given = ids.give(told, habits?.isOwn(made));
  const wired = calls.map((call, index) => ({ ...call, wireId: given[index] ?? call.tool_call_id }));
  const thoughts = withThought(parts.parts, calls.length > 0 ? habits?.missingThought : undefined);
  const content = orderContent(text, { parts: thoughts, calls: wired, names, unsigned: habits?.unsigned });
  if (!content.some(({ type }) => type !== "reasoning")) return false;
  if (turns.at(-1)?.role !== "user" && turns.at(-1)?.role !== "tool") addUser(turns, CONTINUE);
  const providerOptions = habits?.members?.({ parts, text, hasCalls: calls.length > 0 });
  // In chat format extra fields contain the reasoning, and the library would send it a second time.
  const shown = habits?.members === undefined ? content : content.filter(({ type }) => type !== "reasoning");
  turns.push({ role: "assistant", content: shown, ...(providerOptions === undefined ? {} : { providerOptions }) });
  if (calls.length === 0) return false;
  turns.push({ role: "tool", content: wired.map((call) => makeResult(call, results, options)) });
  const known = new Set(calls.map(({ tool_call_id }) => tool_call_id));
  for (const stray of results.filter(({ tool_call_id }) => !known.has(tool_call_id)))
    addUser(turns, resultMessage(stray), { bridge: habits?.bridge });
  return true;
}

interface WiredCall extends MessageCall {
  readonly wireId: string;
}

interface Pieces {
  readonly parts: readonly ReplyPart[];
  readonly calls: readonly WiredCall[];
  readonly names: ToolNames;
  readonly unsigned?: SharedV4ProviderOptions | undefined;
}

/** The reply in its original order, if that is known and nothing was changed since. */
function orderContent(text: string, { parts, calls, names, unsigned }: Pieces): AssistantContent {
  const isWhole =
    sum(parts.map((part) => (part.type === "text" ? part.chars : 0))) === text.length &&
    parts.filter(({ type }) => type === "call").length === calls.length;
  const ordered = isWhole ? parts : fallback(text, { parts, calls });
  const content: AssistantContent = [];
  let textAt = 0;
  let callAt = 0;
  for (const part of ordered) {
    const options = optionsOf(part.options);
    if (part.type === "reasoning")
      content.push({ type: "reasoning", text: part.text, ...optionsOf(part.options ?? unsigned) });
    if (part.type === "text") {
      const piece = text.slice(textAt, (textAt += part.chars));
      if (piece.trim() !== "") content.push({ type: "text", text: piece, ...options });
    }
    if (part.type !== "call") continue;
    const call = calls[callAt++];
    if (call === undefined) continue;
    const { wireId: toolCallId, name, arguments: input } = call;
    content.push({ type: "tool-call", toolCallId, toolName: names.toWire(name), input, ...options });
  }
  return content;
}

/** `missing`: the reasoning of a reply that has none. */
function withThought(parts: readonly ReplyPart[], missing: string | undefined): readonly ReplyPart[] {
  const isThere = missing === undefined || parts.some(({ type }) => type === "reasoning");
  return isThere ? parts : [{ type: "reasoning", text: missing }, ...parts];
}

function optionsOf(providerOptions: SharedV4ProviderOptions | undefined): {
  readonly providerOptions?: SharedV4ProviderOptions;
} {
  return providerOptions === undefined ? {} : { providerOptions };
}

/** Reasoning, text, calls: the order that every provider accepts. */
function fallback(text: string, { parts, calls }: Pick<Pieces, "parts" | "calls">): readonly ReplyPart[] {
  const known = parts.filter((part) => part.type === "call");
  return [
    ...parts.filter(({ type }) => type === "reasoning"),
    { type: "text", chars: text.length },
    ...calls.map((_, index) => known[index] ?? { type: "call" as const }),
  ];
}

function makeResult(
  call: WiredCall,
  results: readonly ToolMessage[],
  { names, marksErrors }: TurnOptions,
): LanguageModelV4ToolResultPart {
  const result = results.find(({ tool_call_id }) => tool_call_id === call.tool_call_id);
  const about = { type: "tool-result", toolCallId: call.wireId, toolName: names.toWire(call.name) } as const;
  const said = result === undefined ? NO_RESULT : result.text;
  const isMarked = marksErrors === true && result?.result.ok !== true;
  return { ...about, output: { type: isMarked ? "error-text" : "text", value: said.trim() === "" ? NO_OUTPUT : said } };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
