import { z } from "zod";
import { defineTool } from "../contract/tool.ts";
import { ToolError } from "../protocol/errors.ts";
import { describeUndo } from "./undo-description.ts";

const args = () => z.strictObject({ path: z.string().min(1).describe("File to delete") });
const returns = () => z.strictObject({ removed: z.string(), bytes: z.int() });

export const deleteFile = defineTool({
  name: "delete_file",
  version: "1.0.0",
  description: "Delete one file. Reversible with undo.",
  args,
  returns,
  required_permissions: ["fs.delete"],
  side_effects: ["files"],
  risk: "high",
  touches: ({ path }) => [{ path, access: "delete" }],
  permission_class: "file",
  audit_operation: "delete",
  changes_by_handle: true,
  previews: true,
  destructive: true,
  search_hint: "delete remove file unlink",

  async execute({ path }, { files }) {
    let bytes = 0;
    const changed = await files.change([path], ([before]) => {
      if (before === undefined || before.facts === null) {
        throw new ToolError("NotFound", `Cannot delete "${path}": not found`, { path });
      }
      bytes = before.facts.size;
      return Promise.resolve([{ path, remove: true }]);
    });
    const { note, artifacts } = describeUndo(changed);
    return { data: { removed: path, bytes }, stdout: `Deleted ${path} (${bytes} bytes)\n`, stderr: note, artifacts };
  },
});
