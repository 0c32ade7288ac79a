import type { ToolCallResult } from "@autonous/runtime";
import type { Print } from "./print.ts";

/** Shows the result of a call to the user: output, how to undo it, the error and the next step. */
export function showResult({ ok, payload, error, artifacts }: ToolCallResult, print: Print): void {
  if (payload !== null && payload.stdout !== "") print.text(payload.stdout);
  if (payload !== null && payload.stderr !== "") print.output(payload.stderr);
  if (ok && payload?.next_page_cursor !== undefined)
    print.note(`More results: pass "cursor": "${payload.next_page_cursor}"`);
  if (artifacts.undo_id !== undefined) print.note(`Undo: autonous undo ${artifacts.undo_id}`);
  if (error === null) return;
  print.note(`${error.code}: ${error.message}`);
  if (error.hint !== undefined) print.note(error.hint);
  if (error.replay !== undefined) print.note(`To approve it, at a terminal: ${error.replay}`);
}
