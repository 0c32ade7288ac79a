import { expect, test } from "vitest";
import { getApproval } from "./approval/approve.ts";
import { decide, refuseDenied } from "./permit.ts";
import { pipeline } from "./pipeline.ts";
import { Attempt } from "./stages.ts";
import type { Opened } from "./stages.ts";
import { checkArgs, findTool, readTargets, resolvePaths } from "./steps/admit.ts";
import { execute } from "./steps/execute.ts";
import { recordStart } from "./steps/record-start.ts";

/** `tsc` fails if one of these compiles. */
export const WRONG_LISTS = [
  // @ts-expect-error -- arguments are checked against the schema of a tool
  () => pipeline([checkArgs, findTool]),
  // @ts-expect-error -- the decision needs the resolved paths
  () => pipeline([findTool, checkArgs, decide]),
  // @ts-expect-error -- a denied call is refused before anyone is asked
  () => pipeline([findTool, checkArgs, resolvePaths, readTargets, decide, getApproval, recordStart]),
  // @ts-expect-error -- nothing starts without step 6
  () => pipeline([findTool, checkArgs, resolvePaths, readTargets, decide, refuseDenied, recordStart]),
  // @ts-expect-error -- nothing runs before its start is recorded
  () => pipeline([findTool, checkArgs, resolvePaths, readTargets, decide, refuseDenied, getApproval, execute]),
];

test("a call that stops keeps the stage that it reached", async () => {
  const edit = (call: Opened): Opened => ({ ...call, is_edited: true });
  const stop = (): Opened => {
    throw new Error("stopped");
  };
  const request = { tool_call_id: "call_1", trace_id: "t", timestamp: 0, run_id: "run_1", name: "ls", args: {} };
  const attempt = new Attempt(request, {}, 0);
  const run = pipeline([edit, stop, edit]);
  await expect(run(attempt.reached, {}, (stage) => (attempt.reached = stage))).rejects.toThrow("stopped");
  expect(attempt.reached).toMatchObject({ is_edited: true });
});
