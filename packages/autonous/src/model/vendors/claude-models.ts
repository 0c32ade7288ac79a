import type { Effort } from "./model-settings.ts";

/** Facts about a Claude model family. */
export interface ClaudeRow {
  /** Maximum reply length. */
  readonly reply: number;
  readonly efforts: readonly Effort[];
  /** `budget`: a number of tokens. `adaptive`: the model decides. `either`: both are possible. */
  readonly thinks: "never" | "budget" | "either" | "adaptive";
  /** Its thinking cannot be turned off. */
  readonly staysOn?: true;
}

const ALL: readonly Effort[] = ["low", "medium", "high", "xhigh", "max"];

/** The first matching row wins. */
// oxfmt-ignore
const CLAUDES: readonly (ClaudeRow & { readonly model: RegExp })[] = [
  { model: /claude-(?:sonnet|opus)-5-5|claude-fable-5/,         reply: 128_000, efforts: ALL,                              thinks: "adaptive", staysOn: true },
  { model: /claude-haiku-5-5/,                                  reply: 128_000, efforts: ALL,                              thinks: "adaptive" },
  { model: /claude-(?:opus-5|sonnet-5|opus-4-[78])/,            reply: 128_000, efforts: ALL,                              thinks: "either" },
  { model: /claude-(?:sonnet|opus)-4-6/,                        reply: 128_000, efforts: ["low", "medium", "high", "max"], thinks: "either" },
  { model: /claude-opus-4-5/,                                   reply: 64_000,  efforts: ["low", "medium", "high"],        thinks: "budget" },
  { model: /claude-(?:sonnet|haiku)-4-5|claude-sonnet-4(?!-\d(?!\d))/, reply: 64_000,  efforts: [],                        thinks: "budget" },
  { model: /claude-opus-4-1|claude-opus-4(?!-\d(?!\d))/,        reply: 32_000,  efforts: [],                               thinks: "budget" },
  { model: /claude-3-7/,                                        reply: 64_000,  efforts: [],                               thinks: "budget" },
  { model: /claude-3-5/,                                        reply: 8192,    efforts: [],                               thinks: "never" },
  { model: /claude-(?:instant|v?2(?![0-9])|3(?![0-9]))/,        reply: 4096,    efforts: [],                               thinks: "never" },
  { model: /claude-/,                                           reply: 128_000, efforts: ALL,                              thinks: "either" },
];

/** Undefined for models other than Claude. Gateways write `anthropic/claude-sonnet-4.5` and `us.anthropic.claude-…`. */
export function claudeRow(model: string): ClaudeRow | undefined {
  const name = model.toLowerCase().replaceAll(/[.@]/g, "-");
  return CLAUDES.find((row) => row.model.test(name));
}
