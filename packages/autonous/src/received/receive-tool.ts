import { defineTool, makeVisible, ToolError } from "@autonous/runtime";
import type { Tool } from "@autonous/runtime";
import { z } from "zod";

export const RECEIVE_FILE = "receive_file";

/**
 * Puts a file that a person sent into the workspace. The worker calls it before the model is asked; no model is offered
 * it. `read` gives the bytes that were downloaded, undefined where they are not what was kept.
 */
export function createReceiveTool(read: (sha256: string) => Buffer | undefined): Tool {
  return defineTool({
    name: RECEIVE_FILE,
    version: "1.0.0",
    description: "Put a file that a person sent into the workspace. Does not overwrite.",
    args: z.strictObject({
      path: z.string().min(1).describe("Where it goes, relative to the workspace"),
      sha256: z.string().describe("Of its content"),
      bytes: z.int().min(0),
      name: z.string().describe("As the sender calls it"),
    }),
    returns: z.strictObject({ path: z.string(), bytes: z.int(), sha256: z.string() }),
    required_permissions: ["fs.write"],
    side_effects: ["files"],
    risk: "medium",
    touches: ({ path }) => [{ path, access: "write" }],
    permission_class: "file",
    audit_operation: "receive",
    changes_by_handle: true,
    previews: true,
    // A second time it finds the file as it was put there.
    idempotent: true,

    async execute({ path, sha256, bytes }, { files }) {
      const content = read(sha256);
      if (content === undefined)
        throw new ToolError("NotFound", `Cannot receive "${path}": the downloaded file is gone or was changed`, {
          hint: "Send the file again.",
        });
      const { undo_id } = await files.change([path], async ([before]) => {
        const there = before?.facts ?? null;
        if (there === null) return [{ path, content }];
        if ((await before?.sha256()) === sha256) return [];
        throw new ToolError("AlreadyExists", `Cannot receive "${path}": there is a file of that name already`, {
          path,
        });
      });
      return {
        data: { path, bytes, sha256 },
        stdout: `Received ${makeVisible(path)} (${bytes} bytes)\n`,
        artifacts: undo_id === undefined ? { files_changed: [] } : { files_changed: [path], undo_id },
      };
    },
  });
}
