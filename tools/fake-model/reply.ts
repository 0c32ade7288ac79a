/** A reply before it is put into a wire format. */
import { createHash } from "node:crypto";
import type { Round } from "./script.ts";

interface ReplyCall {
  /** As the script gives it, else one that begins as the server's own ids do. */
  id(prefix: string): string;
  readonly name: string;
  readonly arguments_text: string;
}

export interface Reply {
  readonly id: string;
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly ReplyCall[];
  readonly finish: "stop" | "length";
  readonly usage: {
    readonly input_tokens: number;
    readonly output_tokens: number;
    readonly cached_input_tokens: number;
    readonly reasoning_tokens: number;
  };
}

/** About what English text and JSON come to. */
const BYTES_A_TOKEN = 4;

export function tokensOf(bytes: number): number {
  return Math.ceil(bytes / BYTES_A_TOKEN);
}

/** `number` makes the ids: the same ones in every run of the same script. */
export function makeReply(round: Round, { number, bytes }: { number: number; bytes: number }): Reply {
  const { reasoning = "", text = "", finish = "stop", usage = {} } = round;
  const calls = (round.calls ?? []).map((call, i) => ({
    id: (prefix: string) => call.id ?? prefix + opaque("call", `${number}.${i}`),
    name: call.name,
    arguments_text: call.arguments_text ?? JSON.stringify(call.arguments ?? {}),
  }));
  const said = reasoning + text + calls.map((call) => call.name + call.arguments_text).join("");
  return {
    id: opaque("reply", String(number)),
    reasoning,
    text,
    calls,
    finish,
    usage: {
      input_tokens: usage.input_tokens ?? tokensOf(bytes),
      output_tokens: usage.output_tokens ?? Math.max(1, tokensOf(said.length)),
      cached_input_tokens: usage.cached_input_tokens ?? 0,
      reasoning_tokens: usage.reasoning_tokens ?? tokensOf(reasoning.length),
    },
  };
}

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
