import { defineTool, ToolError } from "@autonous/runtime";
import { makeVisible } from "@autonous/runtime/internal";
import type { Tool } from "@autonous/runtime";
import { z } from "zod";

export const RECEIVE_FILE = "receive_file";

/**
 * Stores a file that a person sent in the workspace. The worker calls it before it asks the model; models are never
 * offered it. `read` returns the downloaded bytes, or undefined if they are missing or have changed.
 */
export function createReceiveTool(read: (sha256: string) => Buffer | undefined): Tool {
  return defineTool({
    name: RECEIVE_FILE,
    version: "1.0.0",
    description: "Store a file from the user in the workspace. Does not overwrite.",
    args: z.strictObject({
      path: z.string().min(1).describe("Target path, relative to the workspace"),
      sha256: z.string().describe("SHA-256 of the content"),
      bytes: z.int().min(0),
      name: z.string().describe("File name given by the sender"),
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
    // A second call finds the file already stored.
    idempotent: true,

    async execute({ path, sha256, bytes }, { files }) {
      const content = read(sha256);
      if (content === undefined)
        throw new ToolError("NotFound", `Cannot receive "${path}": the downloaded file is missing or has changed`, {
          hint: "Send the file again.",
        });
      const { undo_id } = await files.change([path], async ([before]) => {
        const there = before?.facts ?? null;
        if (there === null) return [{ path, content }];
        if ((await before?.sha256()) === sha256) return [];
        throw new ToolError("AlreadyExists", `Cannot receive "${path}": a file with that name already exists`, {
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
