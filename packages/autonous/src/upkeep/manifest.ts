import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readOwnText, removeHead, replaceHead } from "@autonous/runtime/internal";
import type { AuditProblem } from "@autonous/runtime/internal";

const FORMAT = 1;
const NAME = "backup.json";

/** Metadata of a backup. A folder without it is not a backup. */
export interface Manifest {
  readonly format: typeof FORMAT;
  readonly made_at: string;
  /** The state folder that was backed up. */
  readonly state_dir: string;
  readonly runs: number;
  readonly records: number;
  /** Problems that `audit verify` found when the backup was made. */
  readonly problems: readonly string[];
  readonly left_out: readonly string[];
  /** The head of each chain: run_id, number of the last event, its hash. */
  readonly heads: readonly (readonly [run_id: string, seq: number, hash: string])[];
}

export function writeManifest(folder: string, manifest: Omit<Manifest, "format">): void {
  writeFileSync(join(folder, NAME), `${JSON.stringify({ format: FORMAT, ...manifest })}\n`, {
    mode: 0o600,
    flush: true,
  });
}

/** A problem as listed in the manifest. */
export function problemLine({ run_id = "", seq, problem }: AuditProblem): string {
  return `${run_id} record ${seq}: ${problem}`;
}

/** A backup cannot be made or restored. The message says why and what to do. */
export class CannotBackUp extends Error {}

export function readManifest(folder: string): Manifest {
  let value: unknown;
  try {
    value = JSON.parse(readOwnText(join(folder, NAME)));
  } catch (error) {
    throw new CannotBackUp(`"${folder}" is not a backup: it has no readable ${NAME}`, { cause: error });
  }
  const { format } = Object(value) as { readonly format?: unknown };
  if (typeof format === "number" && format !== FORMAT)
    throw new CannotBackUp(
      `Cannot use the backup "${folder}": its format is ${format}, but only ${FORMAT} is supported`,
    );
  if (isManifest(value)) return value;
  throw new CannotBackUp(`Cannot use the backup "${folder}": its ${NAME} is damaged; use another backup`);
}

function isManifest(value: unknown): value is Manifest {
  const { format, made_at, state_dir, runs, records, problems, left_out, heads } = Object(value) as Partial<
    Record<keyof Manifest, unknown>
  >;
  const areTexts = [made_at, state_dir].every((each) => typeof each === "string");
  const areNumbers = [runs, records].every(Number.isInteger);
  const areLists = Array.isArray(problems) && Array.isArray(left_out) && Array.isArray(heads) && heads.every(isHead);
  return format === FORMAT && areTexts && areNumbers && areLists;
}

function isHead(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  const [run_id, seq, hash] = value as readonly unknown[];
  return typeof run_id === "string" && Number.isInteger(seq) && typeof hash === "string";
}

/** Writes the heads of a backup, for an audit log in `state_dir`. */
export function putHeads(heads: string, manifest: Pick<Manifest, "heads">, state_dir: string): void {
  for (const [run_id, seq, hash] of manifest.heads) {
    removeHead(heads, run_id, state_dir);
    replaceHead(heads, { run_id, seq, hash, state_dir });
  }
}

export { NAME as MANIFEST };
