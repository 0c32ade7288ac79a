/** Ten minutes: a user should not wait longer than that without news. */
const CAP_MS = 600_000;

export interface BackoffOptions {
  /** The wait after the first failed attempt (`TASK_RETRY_BASE_MS`). */
  readonly baseMs: number;
  /** From 0 up to but not including 1. */
  readonly random: () => number;
}

/**
 * Wait after failed attempt number `attempt` (the first is 1): exponential backoff with jitter between half and the
 * full delay, so that tasks that failed together are not retried together.
 */
export function backoffMs(attempt: number, { baseMs, random }: BackoffOptions): number {
  const doublings = Math.min(Math.max(attempt, 1) - 1, 40); // far above the cap, without overflow
  const whole = Math.min(CAP_MS, baseMs * 2 ** doublings);
  return Math.round(whole / 2 + (whole / 2) * random());
}
