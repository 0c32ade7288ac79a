import { ToolError } from "../protocol/errors.ts";
import type { GateCall } from "./call.ts";
import { need } from "./call.ts";

/** Something is not as it was when a person said yes, so that yes does not count. */
export function staleApproval(call: GateCall, changed: readonly string[]): ToolError {
  const { name } = need(call.tool, "tool");
  const what = changed.length === 0 ? "something it depends on has changed" : changed.join("; ");
  return new ToolError(
    "Stale",
    `Cannot run "${name}" as it was approved: since a person was asked, ${what}, so nothing was done`,
    { changed, hint: "Look at what is there now, then make the call again, so that it can be approved as it is." },
  );
}
