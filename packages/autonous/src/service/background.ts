import type { ServiceContext } from "./context.ts";
import { startPruning } from "./prune-job.ts";

/** Starts a background job and returns the function that ends it; undefined if it is not configured. */
type StartBackground = (context: ServiceContext) => Promise<(() => Promise<void>) | undefined>;

/** Background jobs in start order. They end after the worker, in reverse order. */
export const BACKGROUND: readonly StartBackground[] = [startPruning];
