import type { ServiceContext } from "./context.ts";
import { startUpkeep } from "./upkeep.ts";

/** Starts something and gives what ends it; undefined where it is not configured. */
type StartBackground = (context: ServiceContext) => Promise<(() => Promise<void>) | undefined>;

/** What goes on beside tasks and channels, in the order in which it starts; it ends after the worker, the last first. */
export const BACKGROUND: readonly StartBackground[] = [startUpkeep];
