import { ToolError } from "../protocol/errors.ts";
import type { GateCall } from "./call.ts";
import { need } from "./call.ts";

/** Something changed since the approval, so it no longer applies. */
export function staleApproval(call: GateCall, changed: readonly string[]): ToolError {
  const { name } = need(call.tool, "tool");
  const what = changed.length === 0 ? "something it depends on has changed" : changed.join("; ");
  return new ToolError("Stale", `Cannot run "${name}" as approved: since the request, ${what}, so nothing was done`, {
    changed,
    hint: "Check the current state, then repeat the call to request a new approval.",
  });
}
