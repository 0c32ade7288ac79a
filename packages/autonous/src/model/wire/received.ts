import type { ModelUsage, SpentUsage } from "../provider.ts";

/** Longer replies are not used: no model writes that much on purpose. */
export const MAX_CHARACTERS = 1024 * 1024;
/** Limit for reasoning, which is longer and mostly discarded. */
const MAX_THINKING = 4 * MAX_CHARACTERS;
/** Far more than the calls accepted per reply. */
const MAX_BLOCKS = 2000;
/** Estimate for attempts without reported usage. The request is counted with all its JSON. */
const BYTES_PER_TOKEN = 4;

/** Limit before redaction; shown shorter afterwards. */
const MAX_FINISH = 1000;

type UsagePart = { readonly [K in keyof ModelUsage]?: number | undefined };

/** How an answer ended. `over`: with its end mark. `ended`: the body ended normally. `torn`: the connection broke. */
export type EndKind = "over" | "ended" | "torn";

/** Facts about one answer while it arrives: its size, its end, its usage. */
export class ReplyMeter {
  /** Part of a reply arrived: from here on it is billed. */
  hasBegun = false;
  /** Characters of usable content: text and calls. */
  #characters = 0;
  /** Number of calls and other blocks. */
  #blocks = 0;
  #thought = 0;
  #finish: string | undefined;
  #usage: { -readonly [K in keyof ModelUsage]?: number } = {};
  #isOutputFinal = false;
  /** Text of a refusal. */
  refusal = "";
  /** The provider's explanation of its finish reason. */
  detail = "";
  /** A block or call has started but not ended. */
  isOpen: () => boolean = () => false;
  /** Why the answer contains no reply, found while reading it. */
  failure: unknown;
  request_bytes = 0;

  said(text: string): void {
    this.#count(text.length, 0);
  }

  thought(text: string): void {
    this.#count(0, text.length);
  }

  /** A call or another block starts. */
  opened(): void {
    this.#blocks += 1;
  }

  #count(said: number, thought: number): void {
    this.hasBegun = true;
    this.#characters += said;
    this.#thought += thought;
  }

  get hasContent(): boolean {
    return this.#characters > 0;
  }

  get isTooLong(): boolean {
    return this.#characters > MAX_CHARACTERS || this.#thought > MAX_THINKING || this.#blocks > MAX_BLOCKS;
  }

  get finish(): string | undefined {
    return this.#finish;
  }

  /** Of several finish reasons, the more specific one than "stop" wins. Empty ones are ignored. */
  finished(finish: unknown): void {
    if (typeof finish !== "string" || finish.trim() === "" || finish === "null") return;
    if (this.#finish === undefined || meaningOf(finish) !== "stop") this.#finish = finish.slice(0, MAX_FINISH);
  }

  get meaning(): FinishMeaning {
    return this.#finish === undefined ? "unknown" : meaningOf(this.#finish);
  }

  /** `isFinal`: the output count is complete. Later values replace earlier ones. */
  used(usage: UsagePart, isFinal: boolean): void {
    const known = Object.entries(usage).filter(([, value]) => value !== undefined);
    if (known.length === 0) return;
    this.#usage = { ...this.#usage, ...Object.fromEntries(known) };
    this.#isOutputFinal ||= isFinal && usage.output_tokens !== undefined;
  }

  /** For providers that count cache reads and writes separately. Missing values stay unchanged. */
  usedApart(
    { fresh, cached, written }: Readonly<Record<"fresh" | "cached" | "written", number | undefined>>,
    { output_tokens, isFinal }: { readonly output_tokens: number | undefined; readonly isFinal: boolean },
  ): void {
    const { input_tokens: all, cached_input_tokens: readBefore = 0, cache_write_tokens: putBefore = 0 } = this.#usage;
    // Some servers report counts at the start, others at the end, with 0 in the other place.
    const [read, put] = [cached || readBefore, written || putBefore];
    const known = fresh || (all ?? 0) - readBefore - putBefore;
    const isKnown = fresh !== undefined || all !== undefined;
    const input = { input_tokens: known + read + put, cached_input_tokens: read, cache_write_tokens: put };
    this.used({ ...(isKnown ? input : {}), output_tokens }, isFinal);
  }

  get hasAllUsage(): boolean {
    return this.#isOutputFinal && this.#usage.input_tokens !== undefined;
  }

  /** Usage of a reply, as reported by the provider; the output is estimated if missing. */
  get usage(): ModelUsage | undefined {
    const { input_tokens, output_tokens, cached_input_tokens: cached, cache_write_tokens: written } = this.#usage;
    if (input_tokens === undefined && !this.#isOutputFinal) return undefined;
    return {
      input_tokens: input_tokens ?? inTokens(this.request_bytes),
      output_tokens: this.#isOutputFinal ? (output_tokens ?? 0) : Math.max(output_tokens ?? 0, this.#counted),
      ...(cached === undefined ? {} : { cached_input_tokens: cached }),
      ...(written === undefined || written === 0 ? {} : { cache_write_tokens: written }),
    };
  }

  get #counted(): number {
    return inTokens(this.#characters + this.#thought);
  }

  /** Billed usage of an attempt without a reply; undefined if it was not billed. */
  get spent(): SpentUsage | undefined {
    if (this.hasAllUsage) return this.usage;
    if (!this.hasBegun && this.#usage.input_tokens === undefined) return undefined;
    const usage = this.usage ?? { input_tokens: inTokens(this.request_bytes), output_tokens: this.#counted };
    return { ...usage, estimated: true };
  }
}

function inTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/**
 * Meaning of a finish reason. `broken`: the server stopped by itself, and a retry may help. `malformed`: the model
 * wrote a call that the provider could not parse.
 */
type FinishMeaning = "stop" | "calls" | "length" | "filtered" | "refused" | "broken" | "malformed" | "unknown";

/** In lower case with `_` between words: servers spell the same reason differently. */
// oxfmt-ignore
const WORDS: Readonly<Record<Exclude<FinishMeaning, "unknown">, readonly string[]>> = {
  stop:      ["stop", "eos", "eos_token", "end", "end_turn", "stop_sequence", "stop_token", "stopped", "complete", "completed", "done", "finished", "success", "pause_turn"],
  calls:     ["tool_calls", "tool_call", "tool_use", "function_call", "function_calls", "tooluse", "toolcalls"],
  length:    ["length", "max_tokens", "max_length", "max_output_tokens", "max_completion_tokens", "max_new_tokens", "model_length", "token_limit", "length_limit", "model_context_window_exceeded", "context_length", "limit"],
  filtered:  ["content_filter", "content_filtered", "safety", "recitation", "blocklist", "prohibited_content", "spii", "image_safety", "image_prohibited_content", "sensitive", "language", "guardrail_intervened", "guardrails", "blocked", "moderation", "violation"],
  refused:   ["refusal", "refused"],
  broken:    ["abort", "aborted", "cancel", "cancelled", "canceled", "error", "failed", "network_error", "internal_error", "server_error", "engine_error", "engine_overloaded", "insufficient_system_resource", "timeout", "interrupted", "disconnected"],
  malformed: ["malformed_function_call", "malformed_tool_call", "unexpected_tool_call", "invalid_tool_call", "invalid_function_call", "too_many_tool_calls", "malformed_response", "tool_call_error", "missing_thought_signature"],
};

const MEANINGS: ReadonlyMap<string, FinishMeaning> = new Map(
  Object.entries(WORDS).flatMap(([meaning, words]) => words.map((word) => [word, meaning as FinishMeaning])),
);

function meaningOf(finish: string): FinishMeaning {
  const word = finish
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, "_")
    .replace(/^finish_reason_/, "");
  return MEANINGS.get(word) ?? "unknown";
}
