import { isTooLarge, REASONS } from "./model-failure.ts";
import type { Failure } from "./model-failure.ts";
import type { CompleteOptions } from "../provider.ts";
import { pause } from "@autonous/runtime/internal";

export interface RetryLimits {
  readonly max_attempts: number;
  /** The wait after the first failure, doubled each time. */
  readonly base_ms: number;
  readonly longest_ms: number;
  /** No attempt starts later than this after the first one. */
  readonly total_ms: number;
}

/** Total patience: after that, the user must get an error instead of waiting longer. */
export const RETRY: RetryLimits = { max_attempts: 5, base_ms: 1000, longest_ms: 30_000, total_ms: 600_000 };

interface AttemptCounts {
  /** Number of failed attempts, including this one. */
  readonly attempts: number;
  /** Number of those with `max_attempts`. */
  readonly odd?: number;
  /** Time since the start of the first one. */
  readonly elapsed_ms: number;
  /** From 0 up to but not including 1. */
  readonly random: number;
}

/**
 * How long to wait before the next attempt, or why not to retry. If the server names a wait, it is used with some
 * jitter, so that all clients do not return at the same moment.
 */
export function planRetry(
  failure: Failure,
  { attempts, odd = attempts, elapsed_ms, random }: AttemptCounts,
  limits: RetryLimits,
): { readonly wait_ms: number } | { readonly stop: string } {
  if (!REASONS[failure.reason].retry || isTooLarge(failure)) return { stop: "" };
  const isEnough = failure.max_attempts !== undefined && odd >= failure.max_attempts;
  if (attempts >= limits.max_attempts || isEnough) return { stop: `after ${attempts} attempts` };
  const doubled = Math.min(limits.longest_ms, limits.base_ms * 2 ** Math.min(attempts - 1, 30));
  const own = doubled / 2 + (doubled / 2) * random;
  const asked = failure.wait_ms === undefined ? 0 : failure.wait_ms + Math.min(1000, failure.wait_ms / 10) * random;
  // Minimum wait, in case the server keeps asking for no wait or its clock is behind ours.
  const least = failure.wait_ms === undefined || attempts > 1 ? own : 0;
  const wait_ms = Math.round(Math.max(asked, least));
  if (elapsed_ms + wait_ms <= limits.total_ms) return { wait_ms };
  const wanted = failure.wait_ms === undefined ? "" : `, and the server asks to wait ${seconds(failure.wait_ms)} s`;
  return { stop: `after ${attempts} attempts in ${seconds(elapsed_ms)} s${wanted}` };
}

function seconds(ms: number): number {
  return Math.ceil(ms / 1000);
}

interface RetryOptions extends Pick<CompleteOptions, "signal" | "onRetry"> {
  readonly limits: RetryLimits;
  readonly clock: () => number;
  readonly random: () => number;
  /** Converts a thrown error to a failure. May throw to end the attempts. */
  readonly read: (error: unknown) => Failure;
  /** Called first after each failed attempt. If it throws, no further attempt is made. */
  readonly onFailed?: () => Promise<void>;
  /** Creates the final error. */
  readonly giveUp: (failure: Failure, tried: { readonly attempts: number; readonly stop: string }) => Error;
}

/** Retries until success or until a retry is useless. An aborted signal ends the wait at once. */
export async function withRetries<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  const { limits, clock, random, signal, onRetry } = options;
  const startMs = clock();
  let odd = 0;
  for (let attempts = 1; ; attempts++) {
    signal.throwIfAborted();
    let failure: Failure;
    try {
      return await attempt();
    } catch (error) {
      await options.onFailed?.(); // an aborted attempt is billed too
      signal.throwIfAborted();
      failure = options.read(error);
    }
    if (failure.max_attempts !== undefined) odd += 1;
    const plan = planRetry(failure, { attempts, odd, elapsed_ms: clock() - startMs, random: random() }, limits);
    if ("stop" in plan) throw options.giveUp(failure, { attempts, stop: plan.stop });
    onRetry?.({ attempt: attempts + 1, wait_ms: plan.wait_ms, reason: failure.message });
    await pause(plan.wait_ms, { signal });
  }
}
