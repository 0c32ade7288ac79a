import type { ModelUsage, SpentUsage } from "../provider.ts";
import { meaningOf } from "./finish-words.ts";
import type { FinishMeaning } from "./finish-words.ts";

/** Beyond this a reply is not used: more than any model writes on purpose. */
export const MOST_CHARACTERS = 1024 * 1024;
/** Of reasoning, which is written at greater length and mostly thrown away. */
const MOST_THOUGHT = 4 * MOST_CHARACTERS;
/** Far more than the calls that are taken of one reply. */
const MOST_BLOCKS = 2000;
/** For attempts whose provider did not say what they cost. The request is counted with all its JSON. */
const BYTES_PER_TOKEN = 4;

/** Shown shorter, once nothing secret is in it. */
const LONGEST_FINISH = 1000;

type UsagePart = { readonly [K in keyof ModelUsage]?: number | undefined };

/** How an answer ended. `over`: it said so itself. `ended`: the body ended in good form. `torn`: the connection broke. */
export type EndKind = "over" | "ended" | "torn";

/** What is known of one answer while it comes: how much of it, how it ends, and what it costs. */
export class Received {
  /** Something of a reply came: from here on it is billed. */
  hasBegun = false;
  /** Of all that can be used: text and calls. */
  #characters = 0;
  /** Calls and other blocks. */
  #blocks = 0;
  #thought = 0;
  #finish: string | undefined;
  #usage: { -readonly [K in keyof ModelUsage]?: number } = {};
  #isOutputFinal = false;
  /** The words of a refusal. */
  refusal = "";
  /** What the provider says about its finish reason. */
  detail = "";
  /** Something that began has not ended: a block, a call. */
  isOpen: () => boolean = () => false;
  /** Why there is no reply, found while it was read. */
  failure: unknown;
  request_bytes = 0;

  said(text: string): void {
    this.#count(text.length, 0);
  }

  thought(text: string): void {
    this.#count(0, text.length);
  }

  /** A call or another block begins. */
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
    return this.#characters > MOST_CHARACTERS || this.#thought > MOST_THOUGHT || this.#blocks > MOST_BLOCKS;
  }

  get finish(): string | undefined {
    return this.#finish;
  }

  /** Of several the one that says more than "stop" counts. Empty ones say nothing. */
  finished(finish: unknown): void {
    if (typeof finish !== "string" || finish.trim() === "" || finish === "null") return;
    if (this.#finish === undefined || meaningOf(finish) !== "stop") this.#finish = finish.slice(0, LONGEST_FINISH);
  }

  get meaning(): FinishMeaning {
    return this.#finish === undefined ? "unknown" : meaningOf(this.#finish);
  }

  /** `isFinal`: the output is all of it. What comes later outweighs what came before. */
  used(usage: UsagePart, isFinal: boolean): void {
    const known = Object.entries(usage).filter(([, value]) => value !== undefined);
    if (known.length === 0) return;
    this.#usage = { ...this.#usage, ...Object.fromEntries(known) };
    this.#isOutputFinal ||= isFinal && usage.output_tokens !== undefined;
  }

  /** Of providers that count apart what was read from the cache and put into it. What is missing stays as it was. */
  usedApart(
    { fresh, cached, written }: Readonly<Record<"fresh" | "cached" | "written", number | undefined>>,
    { output_tokens, isFinal }: { readonly output_tokens: number | undefined; readonly isFinal: boolean },
  ): void {
    const { input_tokens: all, cached_input_tokens: readBefore = 0, cache_write_tokens: putBefore = 0 } = this.#usage;
    // Some servers count at the beginning, others at the end, and write 0 at the other.
    const [read, put] = [cached || readBefore, written || putBefore];
    const known = fresh || (all ?? 0) - readBefore - putBefore;
    const isKnown = fresh !== undefined || all !== undefined;
    const input = { input_tokens: known + read + put, cached_input_tokens: read, cache_write_tokens: put };
    this.used({ ...(isKnown ? input : {}), output_tokens }, isFinal);
  }

  get hasAllUsage(): boolean {
    return this.#isOutputFinal && this.#usage.input_tokens !== undefined;
  }

  /** Of a reply: as the provider says, its output counted where it does not. */
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

  /** Of an attempt without a reply: what it was billed; undefined where nothing was. */
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
