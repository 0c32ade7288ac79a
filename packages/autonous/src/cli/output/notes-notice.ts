import { makeVisible } from "@autonous/runtime";
import type { ProjectNotes } from "@autonous/runtime";
import type { ProjectContext } from "../../agent/instructions.ts";
import type { ModelProvider } from "../../model/provider.ts";
import type { CommandInput } from "../command.ts";
import type { CheckResult } from "../checks/checks.ts";
import { count } from "../usage.ts";

/** More than this is for `--json`. */
const MAX_NAMED = 10;

/** On one line: "AGENTS.md (2.1 kB), a/AGENTS.md (skipped: it is a folder)". */
function notesText({ notes, skipped }: ProjectNotes): string {
  const read = notes.map(({ path, bytes, truncated }) => `${path} (${size(bytes)}${truncated ? ", truncated" : ""})`);
  const unread = skipped.map(({ path, why }) => `${path} (skipped: ${why})`);
  return [...someOf(read, "more"), ...someOf(unread, "more skipped")].join(", ");
}

/** Of both kinds some are named: files that were read must not hide one that was not. */
function someOf(all: readonly string[], others: string): readonly string[] {
  const more = all.length - MAX_NAMED;
  return [...all.slice(0, MAX_NAMED).map(makeVisible), ...(more > 0 ? [`${more} ${others}`] : [])];
}

function size(bytes: number): string {
  return bytes < 1000 ? count(bytes, "byte") : `${(bytes / 1000).toFixed(1)} kB`;
}

interface Beginning {
  readonly run_id?: string;
  readonly taskOf: "chat" | "run";
  readonly provider: Pick<ModelProvider, "name">;
}

/**
 * For people: programs read it in the event. A run that is resumed keeps the notes that it began with, and without a
 * model nothing reads them.
 */
export function tellNotes(
  { notes }: ProjectContext,
  { print }: Pick<CommandInput, "print">,
  { run_id, taskOf, provider }: Beginning,
): void {
  const isResumed = run_id !== undefined && taskOf === "run";
  if (print.json || notes === undefined || isResumed || provider.name === "direct") return;
  print.note(`Notes: ${notesText(notes)}`);
}

/** For `autonous doctor`: a file that is there and not read deserves a look. */
export function checkNotes(found: ProjectNotes): CheckResult {
  const { notes, skipped } = found;
  const message = notes.length + skipped.length === 0 ? "none: no AGENTS.md or CLAUDE.md found" : notesText(found);
  const isCut = notes.some(({ truncated }) => truncated === true);
  return { check: "notes", outcome: skipped.length > 0 || isCut ? "warning" : "ok", message };
}
