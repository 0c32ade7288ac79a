/** Where chat completions contain a model's thinking. */
import { createHash } from "node:crypto";
import type { Reply } from "../reply.ts";
import type { Answering, Frame, Json } from "./format.ts";

/** The field that contains it; in tags before the text; as parts of the content; or not returned. */
export type Thoughts =
  | "hidden"
  | "reasoning_content"
  | "reasoning"
  | "reasoning_text"
  | "reasoning_details"
  | "think_tags"
  | "parts";

const FIELDS: ReadonlySet<Thoughts> = new Set(["reasoning_content", "reasoning", "reasoning_text"]);

/** OpenRouter's signature of thinking, as issued by the upstream vendor. */
export function detailSignature(thought: string): string {
  return `Ev${createHash("sha256").update(`detail ${thought}`).digest("base64")}`;
}

const DETAIL = { type: "reasoning.text", format: "anthropic-claude-v1", index: 0 } as const;

function inTags({ reasoning, text }: Reply): string {
  return reasoning === "" ? text : `<think>\n${reasoning}\n</think>\n\n${text}`;
}

function partsOf({ reasoning, text }: Reply): Json[] {
  return [
    ...(reasoning === "" ? [] : [{ type: "thinking", thinking: [{ type: "text", text: reasoning }] }]),
    ...(text === "" ? [] : [{ type: "text", text }]),
  ];
}

/** A vendor that signs thinking does so in spite of quirks: without the signature it would reject its own reply. */
function formOf({ odd }: Reply, given: Thoughts): Thoughts {
  return odd.content_parts === true && given !== "reasoning_details" ? "parts" : given;
}

/** For a reply that is not streamed. */
export function thoughtsOf(reply: Reply, given: Thoughts): { readonly content: unknown; readonly fields: Json } {
  const thoughts = formOf(reply, given);
  const { reasoning, text } = reply;
  if (thoughts === "think_tags") return { content: inTags(reply), fields: {} };
  if (thoughts === "parts") return { content: partsOf(reply), fields: {} };
  if (reasoning === "" || thoughts === "hidden") return { content: text, fields: {} };
  if (FIELDS.has(thoughts)) return { content: text, fields: { [thoughts]: reasoning } };
  const detail = { ...DETAIL, text: reasoning, signature: detailSignature(reasoning) };
  return { content: text, fields: { reasoning, reasoning_details: [detail] } };
}

interface Piece {
  readonly kind: Frame["kind"];
  readonly delta: Json;
}

/** The same as chunks of a stream, with the text. */
export function* thoughtFrames(reply: Reply, given: Thoughts, pieces: Answering["pieces"]): Generator<Piece> {
  const thoughts = formOf(reply, given);
  const { reasoning, text } = reply;
  if (thoughts === "think_tags") {
    for (const content of pieces(inTags(reply))) yield { kind: "text", delta: { content } };
    return;
  }
  if (thoughts !== "hidden")
    for (const piece of pieces(reasoning)) yield { kind: "reasoning", delta: thoughtDelta(piece, thoughts) };
  if (thoughts === "reasoning_details" && reasoning !== "") {
    const detail = { ...DETAIL, signature: detailSignature(reasoning) };
    yield { kind: "reasoning", delta: { reasoning_details: [detail] } };
  }
  for (const piece of pieces(text))
    yield { kind: "text", delta: { content: thoughts === "parts" ? [{ type: "text", text: piece }] : piece } };
}

function thoughtDelta(piece: string, thoughts: Thoughts): Json {
  if (FIELDS.has(thoughts)) return { [thoughts]: piece };
  if (thoughts === "parts") return { content: [{ type: "thinking", thinking: [{ type: "text", text: piece }] }] };
  return { reasoning: piece, reasoning_details: [{ ...DETAIL, text: piece }] };
}
