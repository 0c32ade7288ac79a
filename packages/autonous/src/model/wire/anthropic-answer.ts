import { randomUUID } from "node:crypto";
import type { AnswerReader } from "./answer-reader.ts";
import { argumentsText, countOf, isRecord, recordOf, recordsOf, textOf } from "../json-values.ts";
import type { Json } from "../json-values.ts";
import type { ReplyMeter } from "./received.ts";

interface OpenBlock {
  readonly type: string;
  readonly index: number;
  readonly block: Json;
  /** Arguments of a call so far. */
  input: string;
}

/** The field of each delta type, and its block type. */
// oxfmt-ignore
const DELTAS = [
  { type: "text_delta",       member: "text",         of: "text" },
  { type: "thinking_delta",   member: "thinking",     of: "thinking" },
  { type: "signature_delta",  member: "signature",    of: "thinking" },
  { type: "input_json_delta", member: "partial_json", of: "tool_use" },
] as const;

const EVENTS: ReadonlySet<unknown> = new Set([
  "message_start",
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
  "message_delta",
  "message_stop",
  "ping",
]);
/** Other blocks belong to provider-executed tools, which are not offered. */
const BLOCKS: ReadonlySet<string> = new Set(["text", "thinking", "redacted_thinking", "tool_use"]);

/** Messages of Anthropic and of servers with its format, as events or one JSON document. */
export class AnthropicAnswer implements AnswerReader {
  readonly #received: ReplyMeter;
  readonly #open = new Map<number, OpenBlock>();
  #hasStarted = false;
  #next = 0;
  isOver = false;

  constructor(received: ReplyMeter) {
    this.#received = received;
    received.isOpen = () => this.#open.size > 0;
  }

  isReply({ type, content }: Json): boolean {
    return EVENTS.has(type) || (type === "message" && content !== undefined) || Array.isArray(content);
  }

  take(value: Json): readonly Json[] {
    const index = typeof value["index"] === "number" ? value["index"] : undefined;
    switch (value["type"]) {
      case "message_start":
        return this.#start(recordOf(value["message"]));
      case "content_block_start":
        return [...this.#start({}), ...this.#openBlock(recordOf(value["content_block"]), index ?? this.#next)];
      case "content_block_delta":
        return [...this.#start({}), ...this.#takeDelta(recordOf(value["delta"]), index ?? this.#lastIndex)];
      case "content_block_stop":
        return this.#closeBlock(index ?? this.#lastIndex);
      case "message_delta":
        this.#received.finished(recordOf(value["delta"])["stop_reason"]);
        this.#takeUsage(value["usage"], true);
        return [];
      case "message_stop":
        this.isOver = true;
        return [];
      case "ping":
        return [];
      default:
        return this.#takeWhole(value);
    }
  }

  #takeWhole(message: Json): readonly Json[] {
    const started = this.#start({ ...message, content: undefined });
    this.#takeUsage(message["usage"], true);
    this.isOver = true;
    return [...started, ...this.#takeContent(message["content"])];
  }

  #takeContent(content: unknown): readonly Json[] {
    const blocks = typeof content === "string" ? [{ type: "text", text: content }] : recordsOf(content);
    return blocks.flatMap((block) => {
      const index = this.#next;
      return [...this.#openBlock(block, index), ...this.#closeBlock(index)];
    });
  }

  #start(message: Json): readonly Json[] {
    this.#takeUsage(message["usage"], false);
    this.#received.finished(message["stop_reason"]);
    if (this.#hasStarted) return [];
    this.#hasStarted = true;
    this.#received.hasBegun = true;
    const head = { id: textOf(message["id"]) || "msg", model: textOf(message["model"]), role: "assistant" };
    const started = { type: "message_start", message: { ...head, content: [], usage: { input_tokens: 0 } } };
    return [started, ...this.#takeContent(message["content"])];
  }

  #takeUsage(usage: unknown, isFinal: boolean): void {
    if (!isRecord(usage)) return;
    const [fresh, output_tokens] = [countOf(usage["input_tokens"]), countOf(usage["output_tokens"])];
    const cached = countOf(usage["cache_read_input_tokens"]);
    const written = countOf(usage["cache_creation_input_tokens"]);
    this.#received.usedApart({ fresh, cached, written }, { output_tokens, isFinal });
  }

  get #lastIndex(): number {
    return [...this.#open.keys()].at(-1) ?? this.#next;
  }

  #openBlock(block: Json, index: number): readonly Json[] {
    const closed = this.#open.has(index) ? this.#closeBlock(index) : [];
    this.#next = Math.max(this.#next, index + 1);
    this.#received.opened();
    const type = textOf(block["type"]);
    if (!BLOCKS.has(type)) return closed;
    const input = argumentsText(block["input"]);
    this.#open.set(index, { type, index, block, input: input === "{}" ? "" : input });
    if (type === "tool_use") {
      this.#received.said(textOf(block["name"]) + input);
      return closed;
    }
    const empty: Json =
      type === "redacted_thinking" ? { type, data: textOf(block["data"]) } : { type, [type]: "", signature: undefined };
    const begun = DELTAS.flatMap(({ member, type: delta, of }) =>
      of === type && textOf(block[member]) !== ""
        ? this.#takeDelta({ type: delta, [member]: block[member] }, index)
        : [],
    );
    return [...closed, { type: "content_block_start", index, content_block: empty }, ...begun];
  }

  #takeDelta(delta: Json, index: number): readonly Json[] {
    const row = DELTAS.find(({ type, member }) => delta["type"] === type || (!("type" in delta) && member in delta));
    if (row === undefined) return [];
    const opened = this.#open.has(index) || row.of === "tool_use" ? [] : this.#openBlock({ type: row.of }, index);
    const block = this.#open.get(index);
    if (block === undefined) return opened;
    const given = delta[row.member];
    const text = row.of === "tool_use" ? argumentsText(given) : textOf(given);
    if (row.of === "thinking") this.#received.thought(text);
    else this.#received.said(text);
    if (row.of !== "tool_use") {
      const made = { type: "content_block_delta", index, delta: { type: row.type, [row.member]: text } };
      return text === "" ? opened : [...opened, made];
    }
    block.input = isRecord(given) ? text : block.input + text;
    return opened;
  }

  #closeBlock(index: number): readonly Json[] {
    const open = this.#open.get(index);
    if (open === undefined) return [];
    this.#open.delete(index);
    const stop = { type: "content_block_stop", index };
    if (open.type !== "tool_use") return [stop];
    const id = textOf(open.block["id"]) || `toolu_${randomUUID().replaceAll("-", "").slice(0, 24)}`;
    const content_block = { type: "tool_use", id, name: textOf(open.block["name"]), input: {} };
    const delta = { type: "input_json_delta", partial_json: open.input };
    return [{ type: "content_block_start", index, content_block }, { type: "content_block_delta", index, delta }, stop];
  }

  end(): readonly Json[] {
    const closed = [...this.#open.keys()].flatMap((index) => this.#closeBlock(index));
    const stop_reason = this.#received.meaning === "length" ? "max_tokens" : "end_turn";
    return [
      ...this.#start({}),
      ...closed,
      { type: "message_delta", delta: { stop_reason }, usage: { output_tokens: 0 } },
      { type: "message_stop" },
    ];
  }
}
