/** Ten minutes: whoever waits for an answer longer than that has to be told something else. */
const CAP_MS = 600_000;

export interface BackoffOptions {
  /** The wait after the first failed attempt (`TASK_RETRY_BASE_MS`). */
  readonly baseMs: number;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
}

/**
 * How long to wait after the failed attempt of this number (the first is 1): doubled each time, then somewhere between
 * half of that and all of it, so that tasks that failed together do not come back together.
 */
export function backoffMs(attempt: number, { baseMs, random }: BackoffOptions): number {
  const doublings = Math.min(Math.max(attempt, 1) - 1, 40); // 2^40 ms is far beyond the cap, and a number still
  const whole = Math.min(CAP_MS, baseMs * 2 ** doublings);
  return Math.round(whole / 2 + (whole / 2) * random());
}
