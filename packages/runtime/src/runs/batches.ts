import { isParked, waitBehind } from "../gate/parked.ts";
import type { ToolCallInput, ToolCallRequest } from "../protocol/call.ts";
import type { ToolCallResult } from "../protocol/result.ts";

/** Maximum number of parallel calls. */
const MAX_PARALLEL = 8;

/**
 * Groups that run one after the other: adjacent concurrency-safe items together, up to a limit; every other item alone
 * (spec 4, The loop).
 */
export function batchesOf<T>(items: readonly T[], mayRunBeside: (item: T) => boolean): T[][] {
  const batches: T[][] = [];
  let open = false; // the last batch accepts more items
  for (const item of items) {
    const beside = mayRunBeside(item);
    const last = batches.at(-1);
    if (beside && open && last !== undefined && last.length < MAX_PARALLEL) last.push(item);
    else batches.push([item]);
    open = beside;
  }
  return batches;
}

interface BatchOptions {
  readonly mayRunBeside: (request: ToolCallInput) => boolean;
  readonly call: (request: ToolCallInput) => Promise<ToolCallResult>;
  readonly open: (request: ToolCallInput) => ToolCallRequest;
}

/** If a call waits for a person, later calls wait for it: they may depend on its effect. */
export async function callInBatches(
  requests: readonly ToolCallInput[],
  { mayRunBeside, call, open }: BatchOptions,
): Promise<readonly ToolCallResult[]> {
  const results: ToolCallResult[] = [];
  for (const batch of batchesOf(requests, mayRunBeside)) {
    const waits = results.find(isParked);
    const make = async (request: ToolCallInput): Promise<ToolCallResult> =>
      waits === undefined ? await call(request) : waitBehind(open(request), waits);
    results.push(...(await Promise.all(batch.map(make))));
  }
  return results;
}
