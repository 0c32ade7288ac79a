const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5000;
/**
 * So many ends in a row are no accident. More than twice the crashes after which a task is given up, so that two
 * tasks that each bring their worker down do not stop the service.
 */
export const MAX_ENDS = 11;

/** How seldom a worker that does not stay up is tried: what it fails by is looked at by then, or stays for the night. */
export const GIVEN_UP_WAIT_MS = 300_000;

/** How long to wait after so many ends in a row: not at all after the first, which need not mean anything. */
export function waitBefore(endsInARow: number): number {
  return endsInARow <= 1 ? 0 : Math.min(FIRST_WAIT_MS * 2 ** (endsInARow - 2), LONGEST_WAIT_MS);
}
