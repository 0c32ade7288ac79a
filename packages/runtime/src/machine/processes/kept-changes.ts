import type { CommandChanges } from "../../contract/command-changes.ts";
import type { OutputRedactor } from "../../contract/processes.ts";

/** As many of each as a record should name; how many more there were is told beside. */
const MOST = { files: 1000, taken_back: 100 } as const;

/** What of a command's changes goes on record: the first of them, with no secret in a name. */
export function keepChanges(changes: CommandChanges, redactor: Pick<OutputRedactor, "text">): CommandChanges {
  const { files, taken_back, left_out } = changes;
  const named = <T extends { readonly path: string }>(each: T): T => ({ ...each, path: redactor.text(each.path) });
  const placed = <T extends { readonly path: string; readonly real: string }>(each: T): T => ({
    ...named(each),
    real: redactor.text(each.real),
  });
  return {
    ...changes,
    files: files.slice(0, MOST.files).map(placed),
    ...(files.length > MOST.files ? { files_more: files.length - MOST.files } : {}),
    taken_back: taken_back.slice(0, MOST.taken_back).map(placed),
    ...(taken_back.length > MOST.taken_back ? { taken_back_more: taken_back.length - MOST.taken_back } : {}),
    left_out: left_out.map(named),
  };
}
