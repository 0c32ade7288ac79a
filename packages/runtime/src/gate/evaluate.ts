import { decide } from "./permit.ts";
import { pipeline } from "./pipeline.ts";
import { checkArgs, findTool, readTargets, resolvePaths } from "./steps/admit.ts";

/** The steps up to the decision: they run nothing, record nothing, and need no run. */
// oxfmt-ignore
export const DECIDING_STEPS = [
  findTool,        // 1  name, alias, version -> tool
  checkArgs,       // 2  strict schema
  resolvePaths,    // 3  resolve paths
  readTargets,     //    commands and addresses
  decide,          // 4  policy, pure
] as const;

/** Steps 1 to 4 of a call, also on their own: to explain a call, to replay it, to evaluate it again. */
export const evaluate = pipeline(DECIDING_STEPS);
