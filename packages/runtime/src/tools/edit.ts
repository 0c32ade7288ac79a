import { hash } from "node:crypto";
import { z } from "zod";
import type { FileBefore } from "../contract/context.ts";
import { defineTool } from "../contract/tool.ts";
import { refuseMarker } from "../edits/refuse-marker.ts";
import { replaceText } from "../edits/replace.ts";
import type { Edit } from "../edits/replace.ts";
import { unifiedDiff } from "../edits/unified-diff.ts";
import { ToolError } from "../protocol/errors.ts";
import { encodeText } from "../text/encoding.ts";
import { describeUndo } from "./undo-description.ts";
import { readEditable } from "./editable.ts";
import { refuseStale, sha256Argument } from "./stale.ts";

const findText = () => z.string().describe("Text to find, copied exactly from the file");
const replaceWith = () => z.string().describe("Replacement text, taken literally");
const all = () => z.boolean().describe("Replace every occurrence");

const args = () =>
  z.strictObject({
    path: z.string().min(1).describe("File to edit"),
    find: findText().optional(),
    replace: replaceWith().optional(),
    all: all().optional(),
    edits: z
      .array(z.strictObject({ find: findText(), replace: replaceWith(), all: all().optional() }))
      .min(1)
      .max(1000)
      .optional()
      .describe("Instead of find and replace: several edits of the current file, all or none"),
    if_sha256: sha256Argument().optional(),
  });
type Args = z.output<ReturnType<typeof args>>;

const returns = () =>
  z.strictObject({
    path: z.string(),
    replacements: z.int(),
    diff: z.string(),
    size: z.int(),
    sha256: z.string(),
  });

export const edit = defineTool({
  name: "edit",
  version: "1.0.0",
  description:
    "Replace text in a file. find must match exactly once, unless all is set; differences in line endings and trailing spaces are ignored.",
  args,
  returns,
  required_permissions: ["fs.write"],
  side_effects: ["files"],
  risk: "medium",
  touches: ({ path }) => [{ path, access: "write" }],
  permission_class: "file",
  audit_operation: "edit",
  changes_by_handle: true,
  previews: true,
  search_hint: "edit replace change text in file",

  async execute(given, { files }) {
    const edits = editsOf(given);
    const { path } = given;
    let planned: PlannedEdit | undefined;
    const changed = await files.change([path], async ([before]) => {
      if (before === undefined) throw new Error("The file handle omitted the requested file");
      await refuseStale(before, given.if_sha256, "edit");
      planned = await planEdit(before, edits);
      return [{ path, content: planned.content }];
    });
    if (planned === undefined) throw new Error("The file handle did not request a plan");
    const { content, replacements } = planned;
    const diff = await unifiedDiff(path, planned.before, planned.after);
    const { note, artifacts } = describeUndo(changed);
    const data = { path, replacements, diff, size: content.length, sha256: hash("sha256", content, "hex") };
    return { data, stdout: diff, stderr: note, artifacts };
  },
});

function editsOf({ find, replace, all: every, edits }: Args): readonly Edit[] {
  const single = find !== undefined || replace !== undefined || every !== undefined;
  if (edits !== undefined && !single) return edits;
  if (edits === undefined && find !== undefined && replace !== undefined)
    return [{ find, replace, all: every === true }];
  throw new ToolError(
    "InvalidArguments",
    'Cannot call "edit": pass either "find" and "replace", or "edits", not both',
    { fields: ["find", "replace", "edits"] },
  );
}

interface PlannedEdit {
  readonly before: string;
  readonly after: string;
  readonly content: Buffer;
  readonly replacements: number;
}

async function planEdit(before: FileBefore, edits: readonly Edit[]): Promise<PlannedEdit> {
  const { path } = before;
  if (before.facts === null) {
    throw new ToolError("NotFound", `Cannot edit "${path}": file not found`, {
      path,
      hint: "Use write to create a new file, or find to locate it.",
    });
  }
  const { text, bom } = await readEditable(before, "edit");
  const { text: after, replacements } = replaceText(text, edits, { path });
  refuseMarker(text, after, path);
  return { before: text, after, content: encodeText({ text: after, bom }), replacements };
}
