import { z } from "zod";
import type { Changed, FileChange, ToolContext, Undoing } from "../contract/context.ts";
import { defineTool } from "../contract/tool.ts";
import type { FileVersion } from "../contract/undo.ts";
import { makeVisible } from "../output/visible.ts";
import { ToolError } from "../protocol/errors.ts";
import { describeUndo } from "./changed.ts";
import { netOf } from "./net-change.ts";
import type { NetChange } from "./net-change.ts";

const args = () =>
  z
    .strictObject({
      undo_id: z.string().min(1).optional().describe("The change to take back, as its result named it"),
      run_id: z.string().min(1).optional().describe("Instead: every change of that run"),
      force: z.boolean().default(false).describe("Put the old content back even where the file has changed since"),
    })
    .refine(({ undo_id, run_id }) => (undo_id === undefined) !== (run_id === undefined), {
      message: 'name either "undo_id" or "run_id"',
    });

const returns = () =>
  z.strictObject({
    undone: z.array(z.string()).describe("undo_ids, newest first"),
    restored: z.array(z.string()).describe("Files whose old content is back"),
    removed: z.array(z.string()).describe("Files that were not there before"),
    unchanged: z.array(z.string()).describe("Files that were as before already"),
  });

export const undo = defineTool({
  name: "undo",
  version: "1.0.0",
  description:
    "Take back a change of files by its undo_id, or all changes of a run, newest first. Can be undone itself.",
  args,
  returns,
  required_permissions: ["fs.write"],
  side_effects: ["files"],
  risk: "medium",
  touches: () => [],
  undoes: ({ undo_id, run_id }) => (undo_id === undefined ? { run_id: run_id ?? "" } : { undo_id }),
  permission_class: "file",
  audit_operation: "undo",
  changes_by_handle: true,
  previews: true,
  search_hint: "undo revert take back restore change",

  async execute({ force }, context) {
    const { records } = context.undo;
    const nets = netOf(records);
    const changed = await putBack(nets, force, context);
    for (const record of records) if (record.revert !== undefined) await context.undo.revert(record);
    const data = { undone: records.map(({ undo_id }) => undo_id), ...sortOut(nets, changed) };
    const { note, artifacts } = describeUndo(changed);
    return { data, stdout: describe(data), stderr: note, artifacts };
  },
});

async function putBack(
  nets: readonly NetChange[],
  force: boolean,
  { files, undo: log }: ToolContext,
): Promise<Changed> {
  if (nets.length === 0) return { files: [], undo_id: undefined };
  const paths = nets.map(({ path }) => path);
  return await files.change(paths, async (befores) => {
    const pairs = nets.map((net, at) => ({ net, now: befores[at] }));
    const found = await Promise.all(pairs.map(async ({ net, now }) => ({ net, now, sha256: await now?.sha256() })));
    const open = found.filter(
      ({ net, now, sha256 }) => sha256 !== net.before?.sha256 || now?.facts?.mode !== net.before?.mode,
    );
    if (!force) refuseChanged(open);
    return await Promise.all(open.map(async ({ net }) => await changeBack(net, log)));
  });
}

/** All that changed since are told at once, and then nothing is put back. */
function refuseChanged(found: readonly { readonly net: NetChange; readonly sha256: string | undefined }[]): void {
  const stale = found.filter(({ net, sha256 }) => net.broken || sha256 !== net.after?.sha256);
  if (stale.length === 0) return;
  const paths = stale.map(({ net }) => net.path);
  const list = paths
    .slice(0, MAX_NAMED)
    .map((path) => JSON.stringify(path))
    .join(", ");
  const more = paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : "";
  throw new ToolError("Stale", `Cannot take the change back: ${list}${more} changed since`, {
    paths: paths.slice(0, MAX_NAMED),
    hint: "Look at what changed; set force to put the old content back all the same.",
  });
}

const MAX_NAMED = 20;

async function changeBack({ path, before, not_kept, folders }: NetChange, log: Undoing): Promise<FileChange> {
  if (before === null) return { path, remove: true, folders };
  const content = not_kept ? undefined : await log.content(before.sha256);
  if (content !== undefined) return { path, content, mode: before.mode };
  const why = not_kept ? "it was too large to keep" : "it is not kept any more";
  throw new ToolError("NotFound", `Cannot bring back the old content of "${path}": ${why}`, {
    path,
    hint: "This change cannot be taken back; write the file anew.",
  });
}

function sortOut(nets: readonly NetChange[], { files }: Changed): Omit<z.output<ReturnType<typeof returns>>, "undone"> {
  const afterByPath = new Map(files.map(({ path, after }) => [path, after]));
  const pathsWhere = (wanted: (after: FileVersion | null | undefined) => boolean): string[] =>
    nets.filter(({ path }) => wanted(afterByPath.get(path))).map(({ path }) => path);
  return {
    restored: pathsWhere((after) => after !== undefined && after !== null),
    removed: pathsWhere((after) => after === null),
    unchanged: pathsWhere((after) => after === undefined),
  };
}

function describe({ restored, removed, unchanged }: Omit<z.output<ReturnType<typeof returns>>, "undone">): string {
  const rows = [
    ...restored.map((path) => `restored ${makeVisible(path)}`),
    ...removed.map((path) => `removed ${makeVisible(path)}`),
    ...unchanged.map((path) => `unchanged ${makeVisible(path)}`),
  ];
  return rows.map((row) => `${row}\n`).join("");
}
