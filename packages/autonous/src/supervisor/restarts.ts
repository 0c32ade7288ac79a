const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5000;
/**
 * This many exits in a row mean a persistent fault. More than twice the crashes after which a task is abandoned, so that
 * two tasks that each crash their worker do not stop the service.
 */
export const MAX_ENDS = 11;

/** Pause between restarts of a worker that keeps exiting. */
export const GIVEN_UP_WAIT_MS = 300_000;

/** How long to wait after this many exits in a row: no wait after the first, which may be a one-off. */
export function waitBefore(endsInARow: number): number {
  return endsInARow <= 1 ? 0 : Math.min(FIRST_WAIT_MS * 2 ** (endsInARow - 2), LONGEST_WAIT_MS);
}
