import { z } from "zod";
import type { FileBefore } from "../contract/context.ts";
import { ToolError } from "../protocol/errors.ts";

export const sha256Argument = () =>
  z
    .string()
    .regex(/^[0-9a-f]{64}$/i, "expected 64 hexadecimal digits")
    .describe("sha256 from read; refused if the file has changed");

/** Refuses a change that was planned on different content. */
export async function refuseStale(before: FileBefore, wanted: string | undefined, action: string): Promise<void> {
  if (wanted === undefined) return;
  const { path } = before;
  const sha256 = await before.sha256();
  if (sha256 === wanted.toLowerCase()) return;
  const why = sha256 === undefined ? "file not found" : "its content no longer matches if_sha256";
  throw new ToolError("Stale", `Cannot ${action} "${path}": ${why}`, { path, sha256: sha256 ?? null });
}
