import { AttemptFailed } from "../failures/model-failure.ts";
import type { AnswerReader } from "./answer-reader.ts";
import { AnthropicAnswer } from "./anthropic-answer.ts";
import { ChatAnswer } from "./chat-answer.ts";
import { errorInAnswer, isError, pageInAnswer, unknownAnswer } from "./error-in-answer.ts";
import { GeminiAnswer } from "./gemini-answer.ts";
import { isRecord, parseJson } from "../json-values.ts";
import type { Json } from "../json-values.ts";
import type { EndKind, ReplyMeter } from "./received.ts";
import { ResponsesAnswer } from "./responses-answer.ts";
import { EventParser } from "./server-sent-events.ts";
import type { ServerEvent } from "./server-sent-events.ts";

/** Supported wire formats. */
const READERS = {
  chat: ChatAnswer,
  responses: ResponsesAnswer,
  messages: AnthropicAnswer,
  gemini: GeminiAnswer,
} as const satisfies Record<string, new (received: ReplyMeter) => AnswerReader>;
export type WireName = keyof typeof READERS;

/** The body of an answer, piece by piece. `quiet`: nothing arrived within the given time. */
export interface Body {
  next(quietMs?: number): Promise<Uint8Array | "end" | "quiet">;
  /** Stops reading. `isWhole`: the body should be complete, so that the connection can be reused. */
  close(isWhole: boolean): Promise<void>;
}

export interface ReadOptions {
  readonly received: ReplyMeter;
  /** How long to wait for more once the answer is complete. */
  readonly quiet_ms: number;
  /** Accept an answer that ended normally but without an end mark. */
  readonly takesUnfinished: boolean;
  readonly clock: () => number;
}

const MAX_STRAY = 500;
const DONE = /^\s*\[?DONE\]?\s*$/;

/**
 * Reads an answer as events or as one JSON document, and yields it as events in the form that the provider's library
 * expects, as they arrive. Throws if it contains no reply: the server's error, or that it broke off.
 */
export async function* readAnswer(body: Body, name: WireName, options: ReadOptions): AsyncGenerator<Json> {
  const { received } = options;
  const answer = new Answer(new READERS[name](received), options);
  const decoder = new TextDecoder();
  try {
    while (!answer.isOver) {
      const piece = await body.next(answer.mayBeOver ? options.quiet_ms : undefined);
      if (piece === "quiet") answer.pause();
      else yield* answer.push(piece === "end" ? decoder.decode() : decoder.decode(piece, { stream: true }));
      if (piece === "end" || (piece === "quiet" && answer.isComplete)) break;
      if (received.isTooLong) break;
    }
  } catch (error) {
    // The connection broke, but the answer may be complete.
    if (!(error instanceof BodyTorn)) throw error;
    yield* answer.finish("torn", error.cause);
    return;
  } finally {
    await body.close(answer.isOver && !received.isTooLong);
  }
  yield* answer.finish("ended");
}

/** The connection broke during the body. */
export class BodyTorn extends Error {}

type Shape = "unknown" | "events" | "json" | "page";

class Answer {
  readonly #reader: AnswerReader;
  readonly #options: ReadOptions;
  readonly #parser = new EventParser();
  #shape: Shape = "unknown";
  #text: string[] = [];
  /** A body without events, or data that is neither JSON nor a marker: plain text of a gateway. */
  #stray = "";
  #isFirst = true;
  #isDone = false;
  #isComplete = false;
  /** It only looked complete; check again when more data arrives. */
  #hasLooked = false;

  constructor(reader: AnswerReader, options: ReadOptions) {
    this.#reader = reader;
    this.#options = options;
  }

  get isOver(): boolean {
    return this.#isDone || this.#reader.isOver;
  }

  /** More data may follow, but is not required. */
  get mayBeOver(): boolean {
    if (this.#shape === "json") return !this.#hasLooked && /[\]}]\s*$/.test(this.#text.at(-1) ?? "");
    return this.#options.received.finish !== undefined;
  }

  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** No more data arrived for a while. */
  pause(): void {
    this.#isComplete = this.#shape !== "json" || parseJson(this.#text.join("")) !== undefined;
    this.#hasLooked = true;
  }

  *push(text: string): Generator<Json> {
    this.#hasLooked = false;
    if (this.#shape === "unknown") {
      const begun = text.trimStart();
      if (begun === "") return;
      this.#shape = /^[[{]/.test(begun) ? "json" : begun.startsWith("<") ? "page" : "events";
      if (this.#shape !== "events") this.#text.push(begun);
      else {
        this.#stray = begun.slice(0, MAX_STRAY);
        yield* this.#takeEvents(this.#parser.push(begun));
      }
      return;
    }
    if (this.#shape === "events") yield* this.#takeEvents(this.#parser.push(text));
    else this.#text.push(text);
  }

  *#takeEvents(events: readonly ServerEvent[]): Generator<Json> {
    for (const { event, data } of events) {
      if (this.isOver) return; // data after the end is ignored
      yield* this.#takeEvent(event, data);
    }
  }

  *#takeEvent(event: string, data: string): Generator<Json> {
    if (DONE.test(data)) {
      this.#isDone = true;
      return;
    }
    const value = parseJson(data);
    if (this.#isFirst) this.#stray = "";
    this.#isFirst = false;
    if (event === "error") throw errorInAnswer(value ?? data, this.#options.clock());
    if (isRecord(value)) yield* this.#takeValue(value);
    else if (Array.isArray(value)) for (const each of value.filter(isRecord)) yield* this.#takeValue(each);
    else if (/^\s*[[{]/.test(data)) throw incompleteReply("a piece of it is not valid JSON");
    else this.#stray = data.trim().slice(0, MAX_STRAY);
  }

  *#takeValue(value: Json): Generator<Json> {
    const isReply = this.#reader.isReply(value);
    if (isError(value, isReply)) {
      if (isReply) this.#reader.take(value); // for its usage
      throw errorInAnswer(value, this.#options.clock());
    }
    if (isReply || isRecord(value["usage"])) yield* this.#reader.take(value);
  }

  /**
   * Yields the rest of an accepted answer; throws if it is not accepted. `torn`: the error that broke the connection.
   */
  *finish(end: EndKind, torn?: unknown): Generator<Json> {
    yield* this.#takeRest();
    const { received } = this.#options;
    if (received.isTooLong) return yield* this.#reader.end();
    this.#judge(this.isOver ? "over" : end, torn);
    yield* this.#reader.end();
  }

  /** Processes remaining data: a last event without its empty line, or a body that is one JSON document. */
  *#takeRest(): Generator<Json> {
    const text = this.#text.join("");
    if (this.#shape === "page") throw pageInAnswer(text);
    if (this.#shape === "events") {
      const rest = this.#parser.end();
      // A torn event counts only if it is complete.
      return yield* this.#takeEvents(rest.filter(({ data }) => DONE.test(data) || parseJson(data) !== undefined));
    }
    if (this.#shape === "unknown") return;
    const value = parseJson(text);
    const values = value === undefined ? [] : Array.isArray(value) ? value : [value];
    const isKnown = values.some((each) => isRecord(each) && (this.#reader.isReply(each) || isError(each, false)));
    if (isKnown) for (const each of values.filter(isRecord)) yield* this.#takeValue(each);
    else if (value === undefined) yield* this.#takeLines(text);
    else throw unknownAnswer(text);
    this.#isDone ||= isKnown;
  }

  /** JSON lines, as some servers stream. */
  *#takeLines(text: string): Generator<Json> {
    const lines = text.split("\n").map((line) => parseJson(line.replace(/^\s*data:/, "")));
    for (const value of lines) if (isRecord(value)) yield* this.#takeValue(value);
  }

  #judge(end: EndKind, torn: unknown): void {
    const { received, takesUnfinished } = this.#options;
    const { meaning, finish, detail } = received;
    const why = detail === "" ? (finish ?? "") : `${finish}: ${detail.slice(0, 1000)}`;
    if (meaning === "filtered") {
      throw new AttemptFailed({ reason: "content_filter", message: `the reply was stopped (${why})` });
    }
    if (received.refusal.trim() !== "" || meaning === "refused") return;
    if (meaning === "broken") throw incompleteReply(`it ended with "${why}"`);
    if (finish !== undefined && (meaning !== "unknown" || received.hasContent)) return;
    if (end === "over" && received.hasContent) return;
    if (end === "torn") throw torn;
    const said = this.#stray === "" ? "" : `; the server said: ${this.#stray}`;
    const how = finish === undefined ? "it broke off" : `it ended with "${why}"`;
    if (end === "over" || !received.hasContent || received.isOpen()) throw incompleteReply(`${how}${said}`);
    if (!takesUnfinished && this.#reader.endsWithBody !== true)
      throw incompleteReply(`it ended without a finish reason${said}`, { unfinished: true });
  }
}

function incompleteReply(why: string, more: { readonly unfinished?: true } = {}): AttemptFailed {
  return new AttemptFailed({ reason: "cut_off", message: `incomplete reply: ${why}`, ...more });
}
