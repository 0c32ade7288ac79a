import type { TaskOutcome } from "./session/agent-session.ts";

interface UsageFigures extends Pick<TaskOutcome, "turns" | "calls" | "isEstimated" | "isReported"> {
  readonly usage: Pick<TaskOutcome["usage"], "input_tokens" | "output_tokens" | "cost">;
}

/** `3 turns, 5 calls, 12,345 tokens in and 678 out, cost 0.0123`: tokens and cost only if the provider reports them. */
export function usageText({ turns, calls, usage, isEstimated, isReported }: UsageFigures): string {
  const { input_tokens, output_tokens, cost } = usage;
  const hasTokens = input_tokens + output_tokens > 0 && isReported;
  const about = isEstimated ? "about " : "";
  return [
    count(turns, "turn"),
    count(calls, "call"),
    ...(hasTokens ? [`${about}${grouped(input_tokens)} tokens in and ${grouped(output_tokens)} out`] : []),
    ...(cost === null || !hasTokens ? [] : [`cost ${about}${costText(cost)}`]),
  ].join(", ");
}

/** `0.0123`; "unknown" if a model has no price, which is different from free. */
export function costText(cost: number | null): string {
  return cost === null ? "unknown" : cost.toFixed(4);
}

/** `12,345`. `Intl` would take 10 ms to load. */
function grouped(value: number): string {
  return String(value).replaceAll(/\B(?=(?:\d{3})+$)/g, ",");
}

export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
