import type { AnswerReader } from "./answer-reader.ts";
import { countOf, isRecord, parseJson, recordOf, recordsOf, textOf } from "../json-values.ts";
import type { Json } from "../json-values.ts";
import type { ReplyMeter } from "./received.ts";

/** Gemini's answers: chunks of a stream, a list of them, or one. */
export class GeminiAnswer implements AnswerReader {
  readonly #received: ReplyMeter;
  isOver = false;
  readonly endsWithBody = true;

  constructor(received: ReplyMeter) {
    this.#received = received;
  }

  isReply(value: Json): boolean {
    return ["candidates", "promptFeedback", "usageMetadata"].some((name) => value[name] !== undefined);
  }

  take(value: Json): readonly Json[] {
    const [candidate = {}] = recordsOf(value["candidates"]);
    this.#takeUsage(value["usageMetadata"]);
    this.#received.finished(candidate["finishReason"]);
    this.#received.detail ||= textOf(candidate["finishMessage"]);
    this.#takeFeedback(recordOf(value["promptFeedback"]));
    const content = recordOf(candidate["content"]);
    const parts = recordsOf(content["parts"]).flatMap((part) => this.#takePart(part));
    if (parts.length === 0) return [];
    return [
      { responseId: textOf(value["responseId"]) || undefined, candidates: [{ content: { role: "model", parts } }] },
    ];
  }

  /** The request itself was blocked: then the answer has no candidate. */
  #takeFeedback({ blockReason, blockReasonMessage }: Json): void {
    const blocked = textOf(blockReason);
    if (blocked === "" || blocked.endsWith("UNSPECIFIED")) return;
    this.#received.finished("prohibited_content");
    this.#received.detail ||= `the prompt was blocked: ${textOf(blockReasonMessage) || blocked}`;
  }

  #takeUsage(usage: unknown): void {
    if (!isRecord(usage)) return;
    const count = (name: string): number | undefined => countOf(usage[name]);
    const [prompt, tools, said, thought] = [
      count("promptTokenCount"),
      count("toolUsePromptTokenCount") ?? 0,
      count("candidatesTokenCount"),
      count("thoughtsTokenCount"),
    ];
    this.#received.used(
      {
        input_tokens: prompt === undefined ? undefined : prompt + tools,
        output_tokens: said === undefined && thought === undefined ? undefined : (said ?? 0) + (thought ?? 0),
        cached_input_tokens: count("cachedContentTokenCount"),
      },
      true,
    );
  }

  #takePart(part: Json): readonly Json[] {
    this.#received.hasBegun = true;
    const { text, thought, thoughtSignature, functionCall } = part;
    const signed = typeof thoughtSignature === "string" ? { thoughtSignature } : {};
    if (isRecord(functionCall)) {
      const call = withArguments(functionCall);
      this.#received.said(JSON.stringify(call));
      return [{ functionCall: call, ...signed }];
    }
    if (typeof text !== "string") return [];
    if (thought === true) this.#received.thought(text);
    else this.#received.said(text);
    return [{ text, ...(thought === true ? { thought } : {}), ...signed }];
  }

  end(): readonly Json[] {
    const finishReason = this.#received.meaning === "length" ? "MAX_TOKENS" : "STOP";
    return [{ candidates: [{ content: { role: "model", parts: [] }, finishReason }] }];
  }
}

/** Calls without arguments omit them; some proxies send them as text. */
function withArguments(call: Json): Json {
  const { args, name, id, partialArgs, willContinue } = call;
  const read = typeof args === "string" ? parseJson(args === "" ? "{}" : args) : args;
  const streamed = partialArgs === undefined && willContinue === undefined ? {} : { partialArgs, willContinue };
  const given = read ?? args ?? (partialArgs === undefined && willContinue === undefined ? {} : undefined);
  return {
    ...(typeof id === "string" && id !== "" ? { id } : {}),
    ...(typeof name === "string" ? { name } : {}),
    ...(given === undefined ? {} : { args: given }),
    ...streamed,
  };
}
