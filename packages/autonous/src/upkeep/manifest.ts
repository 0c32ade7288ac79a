import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeHead, replaceHead } from "@autonous/runtime";
import type { AuditProblem } from "@autonous/runtime";

const FORMAT = 1;
const NAME = "backup.json";

/** What a backup says of itself. A folder without it is none. */
export interface Manifest {
  readonly format: typeof FORMAT;
  readonly made_at: string;
  /** Where it was made from. */
  readonly state_dir: string;
  readonly runs: number;
  readonly records: number;
  /** What `audit verify` had to say of the record when it was copied. */
  readonly problems: readonly string[];
  readonly left_out: readonly string[];
  /** How far each chain goes in it: run_id, number of the last event, its hash. */
  readonly heads: readonly (readonly [run_id: string, seq: number, hash: string])[];
}

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
  let manifest: Omit<Manifest, "format"> & { readonly format: number };
  try {
    manifest = JSON.parse(readFileSync(join(folder, NAME), "utf8")) as Manifest;
  } catch (error) {
    throw new CannotBackUp(`"${folder}" is no backup: it has no ${NAME} that can be read`, { cause: error });
  }
  if (manifest.format === FORMAT) return { ...manifest, format: FORMAT };
  throw new CannotBackUp(`Cannot use the backup "${folder}": its format is ${manifest.format}, and ${FORMAT} is known`);
}

/** Writes heads as a backup has them, for a record that lies in `state_dir`. */
export function putHeads(heads: string, manifest: Pick<Manifest, "heads">, state_dir: string): void {
  for (const [run_id, seq, hash] of manifest.heads) {
    removeHead(heads, run_id, state_dir);
    replaceHead(heads, { run_id, seq, hash, state_dir });
  }
}

export { NAME as MANIFEST };
