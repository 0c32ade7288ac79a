import { z } from "zod";
import { defineTool } from "../contract/tool.ts";
import type { ChangedEntry, RestoreResult, RestoreItem, UndoRecord } from "../contract/undo-keeper.ts";
import { makeVisible } from "../output/visible.ts";
import { ToolError } from "../protocol/errors.ts";
import { describeUndo } from "./undo-description.ts";
import { netOf } from "./net-change.ts";

const args = () =>
  z
    .strictObject({
      undo_id: z.string().min(1).optional().describe("The undo_id of the change, from its result"),
      run_id: z.string().min(1).optional().describe("Instead of undo_id: undo every change of that run"),
      force: z.boolean().default(false).describe("Restore the old content even if the file has changed since"),
    })
    .refine(({ undo_id, run_id }) => (undo_id === undefined) !== (run_id === undefined), {
      message: 'pass either "undo_id" or "run_id"',
    });

const returns = () =>
  z.strictObject({
    undone: z.array(z.string()).describe("undo_ids, newest first"),
    restored: z.array(z.string()).describe("Paths restored to their earlier state"),
    removed: z.array(z.string()).describe("Paths removed because they did not exist before"),
    unchanged: z.array(z.string()).describe("Paths that already had their earlier state"),
    more: z.int().optional().describe("Number of other paths, not listed"),
  });

export const undo = defineTool({
  name: "undo",
  version: "1.0.0",
  description:
    "Undo a file change by its undo_id, or all changes of a run, newest first. Restores files, links, folders and " +
    "modes, but not timestamps and extended attributes. An undo can be undone too.",
  args,
  returns,
  required_permissions: ["fs.write"],
  side_effects: ["files"],
  risk: "medium",
  touches: () => [],
  undoes: ({ undo_id, run_id, force }) => ({
    force,
    ...(undo_id === undefined ? { run_id: run_id ?? "" } : { undo_id }),
  }),
  permission_class: "file",
  audit_operation: "undo",
  changes_by_handle: true,
  previews: true,
  deadline_ms: 600_000,
  search_hint: "undo revert roll back restore change",

  async execute({ force }, context) {
    const { records } = context.undo;
    const items = netOf(records);
    const { files, undo_id, failure } = items.length === 0 ? NOTHING : await context.undo.restore(items, { force });
    for (const record of records) if (record.revert !== undefined) await context.undo.revert(record);
    const sorted = sortOut(items, files);
    const data = { undone: records.map((record) => record.undo_id), ...shorten(sorted) };
    const { note, artifacts, meta } = describeUndo({ files, undo_id });
    const problem = failure ?? lostOf(records, files.length);
    const failed = problem === undefined ? {} : { failure: problem };
    return { data, stdout: describe(sorted), stderr: note, artifacts, meta, ...failed };
  },
});

const NOTHING: RestoreResult = { files: [], undo_id: undefined };

/** If content was already lost when the change was made, the undo fails. */
function lostOf(records: readonly UndoRecord[], restored: number): ToolError | undefined {
  const lost = records.flatMap((record) => record.lost ?? []);
  if (lost.length === 0) return undefined;
  const more = records.reduce((sum, { lost_more = 0 }) => sum + lost_more, Math.max(0, lost.length - MAX_LOST));
  const named = lost.slice(0, MAX_LOST).map(({ path, why }) => `${JSON.stringify(path)} (${why})`);
  return new ToolError(
    "NotFound",
    `Restored ${restored} paths; cannot be undone: ${named.join(", ")}${more === 0 ? "" : ` and ${more} more`}`,
    {
      paths: lost.slice(0, MAX_LOST).map(({ path }) => path),
      hint: "Restore these from another source, such as version control.",
    },
  );
}

const MAX_LOST = 20;

interface SortedPaths {
  readonly restored: readonly string[];
  readonly removed: readonly string[];
  readonly unchanged: readonly string[];
}

function sortOut(items: readonly RestoreItem[], files: readonly ChangedEntry[]): SortedPaths {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const where = (wanted: (file: ChangedEntry | undefined) => boolean): string[] =>
    items.filter(({ path }) => wanted(byPath.get(path))).map(nameOf);
  return {
    restored: where((file) => file !== undefined && file.after !== null),
    removed: where((file) => file?.after === null),
    unchanged: where((file) => file === undefined),
  };
}

function nameOf({ path, from, to }: RestoreItem): string {
  return (to ?? from)?.kind === "folder" && !path.endsWith("/") ? `${path}/` : path;
}

/** Maximum number of each in a result; the text has all of them, and is stored if it is too long. */
const MAX_NAMED = 1000;

function shorten({ restored, removed, unchanged }: SortedPaths) {
  const lists = { restored, removed, unchanged };
  const more = Object.values(lists).reduce((sum, list) => sum + Math.max(0, list.length - MAX_NAMED), 0);
  return {
    restored: restored.slice(0, MAX_NAMED),
    removed: removed.slice(0, MAX_NAMED),
    unchanged: unchanged.slice(0, MAX_NAMED),
    ...(more === 0 ? {} : { more }),
  };
}

function describe({ restored, removed, unchanged }: SortedPaths): string {
  const rows = [
    ...restored.map((path) => `restored ${makeVisible(path)}`),
    ...removed.map((path) => `removed ${makeVisible(path)}`),
    ...unchanged.map((path) => `unchanged ${makeVisible(path)}`),
  ];
  return rows.map((row) => `${row}\n`).join("");
}
