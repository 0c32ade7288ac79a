import { z } from "zod";
import type { FileBefore } from "../contract/context.ts";
import { ToolError } from "../protocol/errors.ts";

export const sha256Argument = () =>
  z
    .string()
    .regex(/^[0-9a-f]{64}$/i, "expected 64 hexadecimal digits")
    .describe("sha256 from read; refused if the file has changed");

/** A change that was planned on other content than there is does not happen. */
export async function refuseStale(before: FileBefore, wanted: string | undefined, deed: string): Promise<void> {
  if (wanted === undefined) return;
  const { path } = before;
  const sha256 = await before.sha256();
  if (sha256 === wanted.toLowerCase()) return;
  const why = sha256 === undefined ? "there is no such file" : "it is not the content that if_sha256 names any more";
  throw new ToolError("Stale", `Cannot ${deed} "${path}": ${why}`, { path, sha256: sha256 ?? null });
}
