import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeHead, replaceHead } from "@autonous/runtime";
import type { AuditProblem } from "@autonous/runtime";
import { z } from "zod";

const FORMAT = 1;
const NAME = "backup.json";

/** What a backup says of itself. A folder without it is none. */
const shape = z.object({
  format: z.literal(FORMAT),
  made_at: z.string(),
  /** Where it was made from. */
  state_dir: z.string(),
  runs: z.int(),
  records: z.int(),
  /** What `audit verify` had to say of the record when it was copied. */
  problems: z.array(z.string()).readonly(),
  left_out: z.array(z.string()).readonly(),
  /** How far each chain goes in it: run_id, number of the last event, its hash. */
  heads: z.array(z.tuple([z.string(), z.int(), z.string()]).readonly()).readonly(),
});
export type Manifest = Readonly<z.infer<typeof shape>>;

export function writeManifest(folder: string, manifest: Omit<Manifest, "format">): void {
  writeFileSync(join(folder, NAME), `${JSON.stringify({ format: FORMAT, ...manifest })}\n`, {
    mode: 0o600,
    flush: true,
  });
}

/** A problem as a manifest has it. */
export function problemLine({ run_id = "", seq, problem }: AuditProblem): string {
  return `${run_id} record ${seq}: ${problem}`;
}

/** Why a backup cannot be made or put back, with what to do. */
export class CannotBackUp extends Error {}

export function readManifest(folder: string): Manifest {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(join(folder, NAME), "utf8"));
  } catch (error) {
    throw new CannotBackUp(`"${folder}" is no backup: it has no ${NAME} that can be read`, { cause: error });
  }
  const { format } = Object(value) as { readonly format?: unknown };
  if (typeof format === "number" && format !== FORMAT)
    throw new CannotBackUp(`Cannot use the backup "${folder}": its format is ${format}, and ${FORMAT} is known`);
  const manifest = shape.safeParse(value);
  if (manifest.success) return manifest.data;
  const [issue] = manifest.error.issues;
  const where = issue === undefined ? "" : ` at "${issue.path.join(".")}" (${issue.message})`;
  throw new CannotBackUp(`Cannot use the backup "${folder}": its ${NAME} is damaged${where}; use another backup`);
}

/** Writes heads as a backup has them, for a record that lies in `state_dir`. */
export function putHeads(heads: string, manifest: Pick<Manifest, "heads">, state_dir: string): void {
  for (const [run_id, seq, hash] of manifest.heads) {
    removeHead(heads, run_id, state_dir);
    replaceHead(heads, { run_id, seq, hash, state_dir });
  }
}

export { NAME as MANIFEST };
