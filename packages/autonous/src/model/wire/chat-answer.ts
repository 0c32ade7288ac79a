import { reasoningField } from "../vendors/chat-reasoning.ts";
import type { AnswerReader } from "./answer-reader.ts";
import { ChatCalls } from "./chat-calls.ts";
import { countOf, isRecord, recordOf, recordsOf, textOf } from "../json-values.ts";
import type { Json } from "../json-values.ts";
import type { ReplyMeter } from "./received.ts";

/** Fields of a delta that are read here. All others are passed on unchanged. */
const READ: ReadonlySet<string> = new Set([
  "role",
  "content",
  "refusal",
  "reasoning_content",
  "reasoning",
  "reasoning_text",
  "thinking",
  "tool_calls",
  "function_call",
  "annotations",
]);

/**
 * Chat completions, as chunks or one JSON document. Calls are held until the end, since servers send them in many ways
 * and they are not shown while streaming. Several choices are one answer: we request only one, and some servers put
 * text and calls in separate choices.
 */
export class ChatAnswer implements AnswerReader {
  readonly #received: ReplyMeter;
  readonly #calls: ChatCalls;
  #head: Json = { id: "chat", created: 0, model: "" };
  /** Choices that came in pieces: a complete message after them repeats their text. */
  readonly #inPieces = new Set<number>();
  isOver = false;

  constructor(received: ReplyMeter) {
    this.#received = received;
    this.#calls = new ChatCalls(() => received.opened());
  }

  isReply(value: Json): boolean {
    return Array.isArray(value["choices"]);
  }

  take(value: Json): readonly Json[] {
    this.#takeHead(value);
    const choices = recordsOf(value["choices"]);
    const usages = [value["usage"], ...choices.map(({ usage }) => usage), recordOf(value["x_groq"])["usage"]];
    for (const usage of usages) this.#takeUsage(usage);
    this.#takeTimings(recordOf(value["timings"]));
    return choices.flatMap((choice, position) => this.#takeChoice(choice, position));
  }

  #takeHead({ id, created, model }: Json): void {
    this.#head = {
      id: textOf(id) || this.#head["id"],
      created: typeof created === "number" ? created : this.#head["created"],
      model: textOf(model) || this.#head["model"],
    };
  }

  #takeUsage(usage: unknown): void {
    if (!isRecord(usage)) return;
    const input = recordOf(usage["prompt_tokens_details"] ?? usage["input_tokens_details"]);
    const input_tokens = countOf(usage["prompt_tokens"] ?? usage["input_tokens"]);
    const said_tokens = countOf(usage["completion_tokens"] ?? usage["output_tokens"]);
    // xAI counts thinking only in the total.
    const output_tokens =
      said_tokens === undefined
        ? undefined
        : Math.max(said_tokens, (countOf(usage["total_tokens"]) ?? 0) - (input_tokens ?? Infinity));
    const cached_input_tokens = firstOf([
      input["cached_tokens"],
      usage["prompt_cache_hit_tokens"],
      usage["cached_tokens"],
      usage["cache_read_input_tokens"],
    ]);
    const cache_write_tokens = firstOf([
      input["cache_write_tokens"],
      input["cache_creation_tokens"],
      usage["cache_creation_input_tokens"],
    ]);
    this.#received.used({ input_tokens, output_tokens, cached_input_tokens, cache_write_tokens }, true);
  }

  /** llama.cpp counts here if `usage` was not requested. */
  #takeTimings({ prompt_n, cache_n, predicted_n }: Json): void {
    const [read, cached, output_tokens] = [countOf(prompt_n), countOf(cache_n) ?? 0, countOf(predicted_n)];
    if (read === undefined || output_tokens === undefined || this.#received.hasAllUsage) return;
    this.#received.used({ input_tokens: read + cached, output_tokens, cached_input_tokens: cached }, true);
  }

  #takeChoice(choice: Json, position: number): readonly Json[] {
    const number = typeof choice["index"] === "number" ? choice["index"] : position;
    this.#received.finished(choice["finish_reason"] ?? choice["stop_reason"]);
    const { delta, message, text } = choice;
    if (isRecord(delta)) {
      const events = this.#takeDelta(number, delta);
      if (events.length > 0 || recordsOf(delta["tool_calls"]).length > 0) this.#inPieces.add(number);
      return events;
    }
    if (this.#inPieces.has(number)) return [];
    if (isRecord(message)) return this.#takeDelta(number, message);
    return typeof text === "string" ? this.#takeDelta(number, { content: text }) : [];
  }

  #takeDelta(choice: number, delta: Json): readonly Json[] {
    this.#received.hasBegun = true;
    const parts = partsOf(delta["content"]);
    const refusal = textOf(delta["refusal"]) + parts.refusal;
    const reasoning = reasoningOf(delta) + parts.reasoning;
    const content = parts.text + refusal;
    this.#received.refusal += refusal;
    this.#received.said(content);
    this.#received.thought(reasoning);
    for (const call of callsIn(delta)) this.#received.said("x".repeat(this.#calls.add(choice, call)));
    const more = Object.entries(delta).filter(([name, each]) => !READ.has(name) && each !== null);
    if (content === "" && reasoning === "" && more.length === 0) return [];
    return [
      this.#chunk({
        ...Object.fromEntries(more),
        ...(reasoning === "" ? {} : { reasoning_content: reasoning, reasoning_field: reasoningField(delta) }),
        ...(content === "" ? {} : { content }),
      }),
    ];
  }

  end(): readonly Json[] {
    const calls = this.#calls.all().map((call) => this.#chunk({ tool_calls: [call] }));
    const { meaning } = this.#received;
    const finish = meaning === "length" ? "length" : calls.length > 0 ? "tool_calls" : "stop";
    return [...calls, this.#chunk({}, finish)];
  }

  #chunk(delta: Json, finish_reason: string | null = null): Json {
    return { ...this.#head, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] };
  }
}

/** Some servers have fields for several formats, and fill one of them. */
function firstOf(counts: readonly unknown[]): number | undefined {
  const known = counts.flatMap((each) => countOf(each) ?? []);
  return known.find((each) => each > 0) ?? known[0];
}

function callsIn(delta: Json): readonly Json[] {
  const legacy = isRecord(delta["function_call"])
    ? [{ index: "legacy", function: delta["function_call"], id: "" }]
    : [];
  const { tool_calls } = delta;
  return [...recordsOf(isRecord(tool_calls) ? [tool_calls] : tool_calls), ...legacy];
}

function reasoningOf(delta: Json): string {
  const named = [delta["reasoning_content"], delta["reasoning"], delta["reasoning_text"], delta["thinking"]];
  const said = named.find((each) => typeof each === "string" && each !== "");
  if (said !== undefined) return textOf(said);
  return recordsOf(delta["reasoning_details"])
    .map(({ text, summary }) => textOf(text) || textOf(summary))
    .join("");
}

interface ContentParts {
  readonly text: string;
  readonly reasoning: string;
  readonly refusal: string;
}

/** Content is text, or a list of parts. */
function partsOf(content: unknown): ContentParts {
  if (typeof content === "string") return { text: content, reasoning: "", refusal: "" };
  const parts = Array.isArray(content) ? content : [content];
  const all = { text: "", reasoning: "", refusal: "" };
  for (const part of parts) {
    if (typeof part === "string") all.text += part;
    if (!isRecord(part)) continue;
    const { type, text, thinking, refusal } = part;
    if (type === "thinking" || type === "reasoning") all.reasoning += inText(thinking) || inText(text);
    else if (type === "refusal") all.refusal += textOf(refusal);
    else all.text += textOf(text);
  }
  return all;
}

function inText(value: unknown): string {
  return Array.isArray(value)
    ? recordsOf(value)
        .map(({ text }) => textOf(text))
        .join("")
    : textOf(value);
}
