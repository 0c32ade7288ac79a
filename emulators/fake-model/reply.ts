/** A reply before it is put into a wire format. */
import { createHash } from "node:crypto";
import type { Round } from "./script.ts";

export interface ReplyCall {
  /** From the script, else in the format of the server's ids. */
  id(prefix: string): string;
  /** From the script. */
  readonly given_id: string | undefined;
  /** 24 letters and digits from which ids are made: the same in every run of the same script. */
  readonly key: string;
  readonly name: string;
  readonly arguments_text: string;
}

/** The effect of a quirk on the fields of a reply other than its content. */
interface Oddities {
  /** Replaces the finish reason. If the value is undefined, the field is omitted. */
  readonly finish_reason?: { readonly value: string | null | undefined };
  /** It ends like a reply with calls, but has none. */
  readonly ends_as_calls?: true;
  /** Arguments are an object instead of text. */
  readonly arguments_object?: true;
  /** The reply is a refusal with this text, in the vendor's own field. */
  readonly refusal?: string;
  /** Usage is omitted. */
  readonly no_usage?: true;
  /** The content is a list of parts, as in Mistral's thinking models. */
  readonly content_parts?: true;
  /** Chunks of calls have no index. */
  readonly no_index?: true;
  /** The stream ends without `[DONE]` or its equivalent. */
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

/** Approximately right for English text and JSON. */
const BYTES_PER_TOKEN = 4;

export function tokensOf(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** `number` determines the ids: the same in every run of the same script. `input` is used if the round has no usage. */
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

/** The same reply, truncated in the middle of its last part. */
export function cutByLength(reply: Reply): Reply {
  const last = reply.calls.at(-1);
  if (last === undefined) return { ...reply, text: half(reply.text), finish: "length" };
  const calls = [...reply.calls.slice(0, -1), { ...last, arguments_text: half(last.arguments_text) }];
  return { ...reply, calls, finish: "length" };
}

/** A reply whose stream can be cut inside a character: it needs a multi-byte character. */
export function withWideCharacter(reply: Reply): Reply {
  // oxlint-disable-next-line no-control-regex
  return /[^\u0000-\u007f]/.test(reply.text) ? reply : { ...reply, text: `${reply.text}…` };
}

function half(text: string): string {
  const characters = Array.from(text);
  return characters.slice(0, Math.floor(characters.length / 2)).join("");
}

/** An id that looks real, but is deterministic. */
function opaque(kind: string, seed: string): string {
  return createHash("sha256").update(`${kind} ${seed}`).digest("base64url").replaceAll(/[-_]/g, "x").slice(0, 24);
}
