import { expect, test } from "vitest";
import { usageText } from "./usage.ts";

const NO_COST = { input_tokens: 0, output_tokens: 0, cost: null };

// oxfmt-ignore
const CASES = [
  { used: { turns: 1, calls: 0, isEstimated: false, isReported: true, usage: NO_COST }, text: "1 turn, 0 calls" },
  { used: { turns: 3, calls: 5, isEstimated: false, isReported: true, usage: { input_tokens: 12_345, output_tokens: 678, cost: 0.01234 } }, text: "3 turns, 5 calls, 12,345 tokens in and 678 out, cost 0.0123" },
  { used: { turns: 2, calls: 1, isEstimated: false, isReported: true, usage: { input_tokens: 1_234_567, output_tokens: 1_000, cost: null } }, text: "2 turns, 1 call, 1,234,567 tokens in and 1,000 out" },
  { used: { turns: 2, calls: 1, isEstimated: true, isReported: false, usage: { input_tokens: 999, output_tokens: 100_000, cost: 1 } }, text: "2 turns, 1 call" },
  { used: { turns: 2, calls: 1, isEstimated: true, isReported: true, usage: { input_tokens: 999, output_tokens: 100_000, cost: 1 } }, text: "2 turns, 1 call, about 999 tokens in and 100,000 out, cost about 1.0000" },
];

for (const { used, text } of CASES) test(text, () => expect(usageText(used)).toBe(text));
