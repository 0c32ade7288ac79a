import { randomUUID } from "node:crypto";
import type { AnswerReader } from "./answer-reader.ts";
import { argumentsText, countOf, isRecord, recordOf, recordsOf, textOf } from "../json-values.ts";
import type { Json } from "../json-values.ts";
import type { ReplyMeter } from "./received.ts";

interface Item {
  readonly type: string;
  readonly id: string;
  readonly index: number;
  /** Arguments of a call so far. */
  input: string;
  /** Part of its text was passed on. */
  hasText: boolean;
  isDone: boolean;
}

const TEXT_DELTAS: ReadonlySet<unknown> = new Set(["response.output_text.delta", "response.refusal.delta"]);
const TEXT_ENDS: ReadonlySet<unknown> = new Set(["response.output_text.done", "response.refusal.done"]);
const ARGUMENTS = "response.function_call_arguments.";
const ENDS: ReadonlySet<unknown> = new Set([
  "response.completed",
  "response.incomplete",
  "response.failed",
  "response.cancelled",
  "response.done",
]);
/** Passed on unchanged: shown while streaming, and sent back later. */
const REASONING = /^response\.reasoning_summary_(?:part\.added|part\.done|text\.delta)$/;

/** OpenAI's responses, as events or one JSON document. Calls are passed on when complete. */
export class ResponsesAnswer implements AnswerReader {
  readonly #received: ReplyMeter;
  readonly #items = new Map<number, Item>();
  #hasStarted = false;
  isOver = false;

  constructor(received: ReplyMeter) {
    this.#received = received;
    received.isOpen = () => [...this.#items.values()].some(({ isDone }) => !isDone);
  }

  isReply({ type, object, output }: Json): boolean {
    return (typeof type === "string" && type.startsWith("response.")) || object === "response" || Array.isArray(output);
  }

  take(value: Json): readonly Json[] {
    const { type } = value;
    const started = this.#start(recordOf(value["response"] ?? value));
    return [...started, ...this.#takeEvent(type, value)];
  }

  #takeEvent(type: unknown, value: Json): readonly Json[] {
    if (type === "response.output_item.added") return this.#addItem(recordOf(value["item"]), this.#indexOf(value));
    if (type === "response.output_item.done") return this.#endItem(recordOf(value["item"]), this.#indexOf(value));
    if (TEXT_DELTAS.has(type)) return this.#takeText(value, textOf(value["delta"]));
    if (TEXT_ENDS.has(type)) return this.#takeWholeText(value);
    if (typeof type === "string" && type.startsWith(ARGUMENTS)) return this.#takeArguments(value);
    if (ENDS.has(type)) return this.#takeWhole(recordOf(value["response"]));
    if (typeof type !== "string") return this.#takeWhole(value);
    if (type === "response.reasoning_summary_text.delta") this.#received.thought(textOf(value["delta"]));
    return REASONING.test(type) ? [value] : [];
  }

  #start({ id, created_at, model }: Json): readonly Json[] {
    if (this.#hasStarted) return [];
    this.#hasStarted = true;
    this.#received.hasBegun = true;
    const response = {
      id: textOf(id) || "resp",
      created_at: typeof created_at === "number" ? created_at : 0,
      model: textOf(model),
    };
    return [{ type: "response.created", response }];
  }

  /** The index in the event, else by the item's id, else that of the last item. */
  #indexOf({ output_index, item_id, item }: Json): number {
    if (typeof output_index === "number") return output_index;
    const id = textOf(item_id) || textOf(recordOf(item)["id"]);
    const all = [...this.#items.values()];
    const known = id === "" ? all.findLast(({ isDone }) => !isDone) : all.find((each) => each.id === id);
    return known?.index ?? all.reduce((next, { index }) => Math.max(next, index + 1), 0);
  }

  #addItem(item: Json, index: number): readonly Json[] {
    const type = textOf(item["type"]);
    const id = textOf(item["id"]) || `item_${index}`;
    const input = argumentsText(item["arguments"]);
    this.#received.opened();
    this.#items.set(index, { type, id, index, input, hasText: false, isDone: false });
    if (type !== "message" && type !== "reasoning") return [];
    return [{ type: "response.output_item.added", output_index: index, item: { ...item, id } }];
  }

  #takeText(value: Json, text: string): readonly Json[] {
    const index = this.#indexOf(value);
    const known = this.#items.get(index);
    const added = known === undefined ? this.#addItem({ type: "message", id: value["item_id"] }, index) : [];
    const item = this.#items.get(index);
    if (item === undefined || text === "") return added;
    item.hasText = true;
    this.#received.said(text);
    if (textOf(value["type"]).startsWith("response.refusal")) this.#received.refusal += text;
    return [...added, { type: "response.output_text.delta", item_id: item.id, output_index: index, delta: text }];
  }

  /** For servers that send no pieces. */
  #takeWholeText(value: Json): readonly Json[] {
    if (this.#items.get(this.#indexOf(value))?.hasText === true) return [];
    return this.#takeText(value, textOf(value["text"]) || textOf(value["refusal"]));
  }

  #takeArguments(value: Json): readonly Json[] {
    const item = this.#items.get(this.#indexOf(value));
    if (item === undefined) return [];
    const piece = argumentsText(value["delta"]);
    this.#received.said(piece);
    item.input = value["arguments"] === undefined ? item.input + piece : argumentsText(value["arguments"]);
    return [];
  }

  #endItem(item: Json, index: number): readonly Json[] {
    const known = this.#items.get(index);
    if (known?.isDone === true) return [];
    const added = known === undefined ? this.#addItem(item, index) : [];
    const mine = this.#items.get(index);
    if (mine === undefined) return added;
    const content = mine.type === "message" ? this.#takeContent(item, mine) : [];
    mine.isDone = true;
    if (mine.type === "function_call") return this.#endCall(item, mine);
    if (mine.type !== "message" && mine.type !== "reasoning") return [];
    const summary = mine.type === "reasoning" ? { summary: recordsOf(item["summary"]) } : {};
    const done = { ...item, ...summary, type: mine.type, id: mine.id };
    return [...added, ...content, { type: "response.output_item.done", output_index: index, item: done }];
  }

  #takeContent({ content }: Json, { id, index, hasText }: Item): readonly Json[] {
    if (hasText) return [];
    return recordsOf(content).flatMap(({ type, text, refusal }) =>
      this.#takeText(
        { type: type === "refusal" ? "response.refusal.delta" : "text", item_id: id, output_index: index },
        textOf(text) || textOf(refusal),
      ),
    );
  }

  #endCall(item: Json, { id, index, input }: Item): readonly Json[] {
    const given = argumentsText(item["arguments"]) || input;
    this.#received.said(textOf(item["name"]) + (input === "" ? given : ""));
    const call_id =
      textOf(item["call_id"]) || textOf(item["id"]) || `call_${randomUUID().replaceAll("-", "").slice(0, 24)}`;
    const call = { ...item, type: "function_call", id, call_id, name: textOf(item["name"]) };
    return [
      { type: "response.output_item.added", output_index: index, item: { ...call, arguments: "" } },
      {
        type: "response.output_item.done",
        output_index: index,
        item: { ...call, arguments: given, status: "completed" },
      },
    ];
  }

  /** The end of a stream, or an unstreamed answer: reads items that were not seen before. */
  #takeWhole(response: Json): readonly Json[] {
    this.isOver = true;
    const { usage, status, incomplete_details, output } = response;
    this.#takeUsage(usage);
    const why = textOf(recordOf(incomplete_details)["reason"]);
    this.#received.finished(why === "" ? (status === "incomplete" ? "length" : (status ?? "completed")) : why);
    const events = recordsOf(output).flatMap((item, index) => this.#endItem(item, index));
    if (events.length > 0) return events;
    const { output_text } = response;
    const isSaid = this.#items.size > 0 || typeof output_text !== "string";
    return isSaid ? [] : this.#endItem({ type: "message", content: [{ type: "output_text", text: output_text }] }, 0);
  }

  #takeUsage(usage: unknown): void {
    if (!isRecord(usage)) return;
    const input = recordOf(usage["input_tokens_details"]);
    this.#received.used(
      {
        input_tokens: countOf(usage["input_tokens"]),
        output_tokens: countOf(usage["output_tokens"]),
        cached_input_tokens: countOf(input["cached_tokens"]),
        cache_write_tokens: countOf(input["cache_write_tokens"]),
      },
      true,
    );
  }

  end(): readonly Json[] {
    const isCut = this.#received.meaning === "length";
    const response = isCut ? { incomplete_details: { reason: "max_output_tokens" } } : {};
    const type = isCut ? "response.incomplete" : "response.completed";
    const open = [...this.#items.values()].filter(({ isDone, type: kind }) => !isDone && kind === "message");
    const closed = open.flatMap(({ id, index }) => this.#endItem({ type: "message", id }, index));
    return [...this.#start({}), ...closed, { type, response }];
  }
}
