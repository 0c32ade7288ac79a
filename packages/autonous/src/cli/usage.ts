import type { Asked } from "./agent-session.ts";

type Used = Pick<Asked, "turns" | "calls" | "usage" | "isEstimated">;

/** `3 turns, 5 calls, 12,345 tokens in and 678 out, cost 0.0123`: tokens and cost where they are known. */
export function usageText({ turns, calls, usage, isEstimated }: Used): string {
  const { input_tokens, output_tokens, cost } = usage;
  const hasTokens = input_tokens + output_tokens > 0 && !isEstimated;
  const number = (value: number): string => value.toLocaleString("en-US");
  return [
    count(turns, "turn"),
    count(calls, "call"),
    ...(hasTokens ? [`${number(input_tokens)} tokens in and ${number(output_tokens)} out`] : []),
    ...(cost === null || !hasTokens ? [] : [`cost ${cost.toFixed(4)}`]),
  ].join(", ");
}

export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
