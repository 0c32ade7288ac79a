import { makeVisible } from "@autonous/runtime/internal";
import type { ProjectNotes } from "@autonous/runtime/internal";
import type { ProjectContext } from "../../agent/instructions.ts";
import type { ModelProvider } from "../../model/provider.ts";
import type { CommandInput } from "../command.ts";
import type { CheckResult } from "../checks/checks.ts";
import { count } from "../usage.ts";

/** Longer lists are only in `--json`. */
const MAX_NAMED = 10;

/** On one line: "AGENTS.md (2.1 kB), a/AGENTS.md (skipped: it is a folder)". */
function notesText({ notes, skipped }: ProjectNotes): string {
  const read = notes.map(({ path, bytes, truncated }) => `${path} (${size(bytes)}${truncated ? ", truncated" : ""})`);
  const unread = skipped.map(({ path, why }) => `${path} (skipped: ${why})`);
  return [...someOf(read, "more"), ...someOf(unread, "more skipped")].join(", ");
}

/** Limits each kind separately, so that many read files do not hide a skipped one. */
function someOf(all: readonly string[], others: string): readonly string[] {
  const more = all.length - MAX_NAMED;
  return [...all.slice(0, MAX_NAMED).map(makeVisible), ...(more > 0 ? [`${more} ${others}`] : [])];
}

function size(bytes: number): string {
  return bytes < 1000 ? count(bytes, "byte") : `${(bytes / 1000).toFixed(1)} kB`;
}

interface NoteContext {
  readonly run_id?: string;
  readonly taskOf: "chat" | "run";
  readonly provider: Pick<ModelProvider, "name">;
}

/**
 * Only for people: programs read the event. A resumed run keeps the notes that it started with, and without a
 * model nothing reads them.
 */
export function printNotes(
  { notes }: ProjectContext,
  { print }: Pick<CommandInput, "print">,
  { run_id, taskOf, provider }: NoteContext,
): void {
  const isResumed = run_id !== undefined && taskOf === "run";
  if (print.json || notes === undefined || isResumed || provider.name === "direct") return;
  print.note(`Notes: ${notesText(notes)}`);
}

/** For `autonous doctor`: warns about files that exist but were not read. */
export function checkNotes(found: ProjectNotes): CheckResult {
  const { notes, skipped } = found;
  const message = notes.length + skipped.length === 0 ? "none: no AGENTS.md or CLAUDE.md found" : notesText(found);
  const isCut = notes.some(({ truncated }) => truncated === true);
  return { check: "notes", outcome: skipped.length > 0 || isCut ? "warning" : "ok", message };
}
