import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime } from "@autonous/runtime";
import type { Runtime } from "@autonous/runtime";

/** Everything of a run of the benchmarks is below this folder. */
export const scratch = mkdtempSync(join(tmpdir(), "autonous-bench-"));
process.env["XDG_STATE_HOME"] = join(scratch, "state");
process.env["XDG_CACHE_HOME"] = join(scratch, "cache");

export function makeWorkspace(name: string): string {
  const folder = join(scratch, name);
  mkdirSync(folder);
  return folder;
}

/** A runtime with everything on: policy, record, redaction, undo. */
export async function openRuntime(workspace: string): Promise<Runtime> {
  return await createRuntime({ roots: [workspace], state_dir: `${workspace}-state` });
}

/** A benchmark of calls that fail measures nothing. */
export async function callOrThrow(
  runtime: Runtime,
  name: string,
  args: Record<string, unknown>,
): ReturnType<Runtime["call"]> {
  const result = await runtime.call({ name, args });
  if (!result.ok) throw new Error(`${name} failed: ${result.error?.message}`);
  return result;
}
