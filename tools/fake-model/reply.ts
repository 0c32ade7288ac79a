/** A reply before it is put into a wire format. */
import { createHash } from "node:crypto";
import type { Round } from "./script.ts";

export interface ReplyCall {
  /** As the script gives it, else one that begins as the server's own ids do. */
  id(prefix: string): string;
  /** As the script gives it. */
  readonly given_id: string | undefined;
  /** 24 letters and digits that ids in other shapes are made of: the same in every run of the same script. */
  readonly key: string;
  readonly name: string;
  readonly arguments_text: string;
}

/** What a quirk does to the fields of a reply that are not its content. */
interface Oddities {
  /** Instead of the reason for the end. Undefined as the value: the field is left out. */
  readonly finish_reason?: { readonly value: string | null | undefined };
  /** It ends as a reply with calls does, without any. */
  readonly ends_as_calls?: true;
  /** Arguments are an object instead of text. */
  readonly arguments_object?: true;
  /** The reply is a refusal in these words, in the vendor's own field for it. */
  readonly refusal?: string;
  /** Nothing is said about tokens. */
  readonly no_usage?: true;
  /** The parts of the content are a list, as Mistral's models that think have it. */
  readonly content_parts?: true;
  /** Pieces of calls do not say which call they belong to. */
  readonly no_index?: true;
  /** No `[DONE]`, or what stands for it, at the end of the stream. */
  readonly no_done?: true;
}

export interface InputUsage {
  readonly input_tokens: number;
  readonly cached_input_tokens: number;
  readonly cache_write_tokens: number;
}

export interface Reply {
  readonly id: string;
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly ReplyCall[];
  readonly finish: "stop" | "length";
  readonly usage: InputUsage & { readonly output_tokens: number; readonly reasoning_tokens: number };
  readonly odd: Oddities;
}

/** About what English text and JSON come to. */
const BYTES_A_TOKEN = 4;

export function tokensOf(bytes: number): number {
  return Math.ceil(bytes / BYTES_A_TOKEN);
}

/** `number` makes the ids: the same ones in every run of the same script. `input` counts where the round does not say. */
export function makeReply(round: Round, { number, input }: { number: number; input: InputUsage }): Reply {
  const { reasoning = "", text = "", finish = "stop", usage = {} } = round;
  const calls = (round.calls ?? []).map((call, i) => {
    const key = opaque("call", `${number}.${i}`);
    return {
      id: (prefix: string) => call.id ?? prefix + key,
      given_id: call.id,
      key,
      name: call.name,
      arguments_text: call.arguments_text ?? JSON.stringify(call.arguments ?? {}),
    };
  });
  const said = reasoning + text + calls.map((call) => call.name + call.arguments_text).join("");
  const counted = usage.input_tokens === undefined ? input : NO_CACHE;
  return {
    id: opaque("reply", String(number)),
    reasoning,
    text,
    calls,
    finish,
    usage: {
      input_tokens: usage.input_tokens ?? input.input_tokens,
      output_tokens: usage.output_tokens ?? Math.max(1, tokensOf(said.length)),
      cached_input_tokens: usage.cached_input_tokens ?? counted.cached_input_tokens,
      cache_write_tokens: usage.cache_write_tokens ?? counted.cache_write_tokens,
      reasoning_tokens: usage.reasoning_tokens ?? tokensOf(reasoning.length),
    },
    odd: {},
  };
}

const NO_CACHE = { cached_input_tokens: 0, cache_write_tokens: 0 };

/** The same reply, stopped in the middle of what came last. */
export function cutByLength(reply: Reply): Reply {
  const last = reply.calls.at(-1);
  if (last === undefined) return { ...reply, text: half(reply.text), finish: "length" };
  const calls = [...reply.calls.slice(0, -1), { ...last, arguments_text: half(last.arguments_text) }];
  return { ...reply, calls, finish: "length" };
}

/** A reply whose stream can be cut inside a character: that needs one of several bytes. */
export function withWideCharacter(reply: Reply): Reply {
  // oxlint-disable-next-line no-control-regex
  return /[^\u0000-\u007f]/.test(reply.text) ? reply : { ...reply, text: `${reply.text}…` };
}

function half(text: string): string {
  const characters = Array.from(text);
  return characters.slice(0, Math.floor(characters.length / 2)).join("");
}

/** An id that looks like a real one, without being random. */
function opaque(kind: string, seed: string): string {
  return createHash("sha256").update(`${kind} ${seed}`).digest("base64url").replaceAll(/[-_]/g, "x").slice(0, 24);
}
