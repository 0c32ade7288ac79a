import { z } from "zod";
import type { FileBefore, FileChange } from "../contract/context.ts";
import { defineTool } from "../contract/tool.ts";
import type { Touch } from "../contract/tool.ts";
import { applyChange } from "../edits/apply-change.ts";
import { refuseMarker } from "../edits/refuse-marker.ts";
import { parsePatch } from "../edits/parse-patch.ts";
import type { PatchChange } from "../edits/parse-patch.ts";
import { makeVisible } from "../output/visible.ts";
import { ToolError } from "../protocol/errors.ts";
import { encodeText } from "../text/encoding.ts";
import { describeUndo } from "./undo-description.ts";
import { readEditable } from "./editable.ts";

const args = () =>
  z.strictObject({
    patch_text: z.string().min(1).describe('A patch from "*** Begin Patch" to "*** End Patch", or a unified diff'),
  });
type Args = z.output<ReturnType<typeof args>>;

const returns = () =>
  z.strictObject({
    added: z.array(z.string()),
    changed: z.array(z.string()),
    moved: z.array(z.strictObject({ from: z.string(), to: z.string() })),
    deleted: z.array(z.string()),
  });
type Summary = z.output<ReturnType<typeof returns>>;

export const applyPatch = defineTool({
  name: "apply_patch",
  version: "1.0.0",
  description: "Add, change, move and delete several files with one patch, atomically: all changes apply or none.",
  args,
  returns,
  required_permissions: ["fs.write"],
  side_effects: ["files"],
  risk: (given) => (patchOf(given).some(({ kind }) => kind === "delete") ? "high" : "medium"),
  touches: (given) => patchOf(given).flatMap(touchesOf),
  permission_class: "file",
  audit_operation: "edit",
  changes_by_handle: true,
  previews: true,
  search_hint: "apply patch diff many files",

  async execute(given, { files }) {
    const patch = patchOf(given);
    const paths = patch.flatMap((change) => touchesOf(change).map(({ path }) => path));
    const changed = await files.change(paths, async (befores) => {
      const byPath = new Map(befores.map((before) => [before.path, before]));
      const changes: FileChange[] = [];
      for (const change of patch) changes.push(...(await planChange(change, byPath)));
      return changes;
    });
    const data = summarise(patch);
    const { note, artifacts } = describeUndo(changed);
    return { data, stdout: describe(data), stderr: note, artifacts };
  },
});

/** A cache: one call uses its patch three times. */
const patches = new WeakMap<Args, readonly PatchChange[]>();

function patchOf(given: Args): readonly PatchChange[] {
  const patch = patches.get(given) ?? parsePatch(given.patch_text);
  patches.set(given, patch);
  return patch;
}

/** A move loses nothing: the content is at its new path, so the old path counts as written, not deleted. */
function touchesOf(change: PatchChange): readonly Touch[] {
  if (change.kind === "delete") return [{ path: change.path, access: "delete" }];
  const touches: Touch[] = [{ path: change.path, access: "write" }];
  if (change.kind === "update" && change.move_to !== undefined) touches.push({ path: change.move_to, access: "write" });
  return touches;
}

async function planChange(change: PatchChange, befores: ReadonlyMap<string, FileBefore>): Promise<FileChange[]> {
  const { path } = change;
  const before = befores.get(path);
  if (before === undefined) throw new Error("The file handle omitted a requested file");
  if (change.kind === "add") {
    const old = before.facts === null ? undefined : (await before.read()).toString("utf8");
    const text = applyChange(change, undefined);
    refuseMarker(old, text, path);
    return [{ path, content: Buffer.from(text) }];
  }
  if (before.facts === null) {
    throw new ToolError(
      "NotFound",
      `Cannot apply the patch: it ${change.kind === "delete" ? "deletes" : "updates"} "${path}", which does not exist; nothing was changed`,
      { path },
    );
  }
  if (change.kind === "delete" && change.chunks.length === 0) return [{ path, remove: true }];
  const { text, bom } = await readEditable(before, "patch");
  if (change.kind === "delete") {
    applyChange(change, text); // a diff states what it deletes, and the file must contain it
    return [{ path, remove: true }];
  }
  const after = applyChange(change, text);
  refuseMarker(text, after, path);
  const content = encodeText({ text: after, bom });
  if (change.move_to === undefined) return [{ path, content }];
  return [
    { path: change.move_to, content, mode: before.facts.mode },
    { path, remove: true },
  ];
}

function summarise(patch: readonly PatchChange[]): Summary {
  const summary: Summary = { added: [], changed: [], moved: [], deleted: [] };
  for (const change of patch) {
    if (change.kind === "add") summary.added.push(change.path);
    else if (change.kind === "delete") summary.deleted.push(change.path);
    else if (change.move_to === undefined) summary.changed.push(change.path);
    else summary.moved.push({ from: change.path, to: change.move_to });
  }
  return summary;
}

function describe({ added, changed, moved, deleted }: Summary): string {
  const rows = [
    ...added.map((path) => `A ${path}`),
    ...changed.map((path) => `M ${path}`),
    ...moved.map(({ from, to }) => `R ${from} -> ${to}`),
    ...deleted.map((path) => `D ${path}`),
  ];
  return rows.map((row) => `${makeVisible(row)}\n`).join("");
}
