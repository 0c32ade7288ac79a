import type { CallError, ToolCallResult } from "@autonous/runtime";

/** A result as text for the model: outcome, output, and how to get the rest. */
export function resultText(result: ToolCallResult): string {
  const { payload, error } = result;
  const lines = [error === null ? "ok" : `failed: ${errorText(error)}`];
  if (error !== null && payload !== null && payload.exit_code !== 0) lines.push(`exit_code: ${payload.exit_code}`);
  lines.push(outputText(result));
  if (payload?.next_page_cursor !== undefined) {
    lines.push(
      `More results: call again with the same arguments and "cursor": ${JSON.stringify(payload.next_page_cursor)}`,
    );
  }
  if (payload?.storage_ref !== undefined) lines.push(`Full output: ${payload.storage_ref}`);
  lines.push(changesText(result));
  return lines.filter((line) => line !== "").join("\n");
}

/** Code, message and hint: enough to act on. */
export function errorText({ code, message, hint }: CallError): string {
  return hint === undefined ? `${code}: ${message}` : `${code}: ${message}\nHint: ${hint}`;
}

/** Maximum number of changed files that are named; the result has all of them. */
const NAMED = 10;

/** The changes of a call, and the id to undo them. */
export function changesText({ artifacts: { files_changed, undo_id } }: ToolCallResult): string {
  if (files_changed.length === 0) return "";
  const more = files_changed.length - NAMED;
  const named = files_changed.slice(0, NAMED).join(", ") + (more > 0 ? ` and ${more} more` : "");
  return `Changed: ${named}${undo_id === undefined ? "" : ` (undo_id: ${undo_id})`}`;
}

/** Output of a call, or its data if the tool prints nothing. */
export function outputText({ payload }: ToolCallResult): string {
  if (payload === null) return "";
  const stdout = payload.stdout.trimEnd();
  const stderr = payload.stderr.trim();
  if (stdout !== "" || stderr !== "") return [stdout, stderr].filter((part) => part !== "").join("\n");
  return isEmpty(payload.data) ? "" : JSON.stringify(payload.data);
}

function isEmpty(data: unknown): boolean {
  return data === null || data === undefined || (typeof data === "object" && Object.keys(data).length === 0);
}
