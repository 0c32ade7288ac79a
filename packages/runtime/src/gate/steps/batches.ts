/** Maximum number of parallel calls. */
const MAX_BESIDE = 8;

/**
 * Groups that run one after the other: adjacent concurrency-safe items together, up to a limit; every other item alone
 * (spec 4, The loop).
 */
export function batchesOf<T>(items: readonly T[], maySideBySide: (item: T) => boolean): T[][] {
  const batches: T[][] = [];
  let open = false; // the last batch accepts more items
  for (const item of items) {
    const beside = maySideBySide(item);
    const last = batches.at(-1);
    if (beside && open && last !== undefined && last.length < MAX_BESIDE) last.push(item);
    else batches.push([item]);
    open = beside;
  }
  return batches;
}
