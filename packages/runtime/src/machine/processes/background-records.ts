import { mkdirSync, readdirSync, renameSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { BackgroundFacts } from "../../contract/processes.ts";
import { ToolError } from "../../protocol/errors.ts";
import { lifeOf } from "../system/process-owner.ts";
import { NotAFileError, readOwnText } from "../../own-files/read-own-file.ts";

/** The stored record of a background command. */
export interface BackgroundRecord extends BackgroundFacts {
  /** The process that started it. */
  readonly owner: string;
}

const ID = /^bg_[0-9a-z]+$/;

/** Number of ended commands whose records and logs are retained. */
const KEPT = 50;

export function backgroundFolder(state_dir: string): string {
  const folder = join(state_dir, "background");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

export function writeRecord(folder: string, record: BackgroundRecord): void {
  const path = join(folder, `${record.background_id}.json`);
  const aside = `${path}.new`;
  writeFileSync(aside, `${JSON.stringify(record)}\n`, { mode: 0o600 });
  renameSync(aside, path);
}

/** In order of start. A command whose worker is gone is `lost`; an unreadable record is skipped. */
export function readRecords(folder: string): readonly BackgroundRecord[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".json") && ID.test(name.slice(0, -".json".length)))
    .flatMap((name) => {
      const record = findRecord(folder, name.slice(0, -".json".length));
      return record === undefined || record === "damaged" ? [] : [record];
    })
    .sort((one, other) => one.started_at.localeCompare(other.started_at));
}

export function readRecord(folder: string, id: string): BackgroundRecord | undefined {
  const record = findRecord(folder, id);
  if (record !== "damaged") return record;
  const name = `background/${id}.json`;
  const why = `Cannot read the background command "${id}": "${name}" in the state folder is not a valid record`;
  throw new ToolError("RecordFailed", why, {
    hint: `Delete "${name}" and start the command again; others are not affected.`,
  });
}

function findRecord(folder: string, id: string): BackgroundRecord | "damaged" | undefined {
  if (!ID.test(id)) return undefined;
  let text: string;
  try {
    text = readOwnText(join(folder, `${id}.json`));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    if (error instanceof NotAFileError) return "damaged";
    throw error;
  }
  const record = parseRecord(text, id);
  if (record === undefined) return "damaged";
  if (record.state !== "running" || lifeOf(record.owner) !== "gone") return record;
  return { ...record, state: "lost", changes_problem: "the process that watched it has exited" };
}

const STATES: ReadonlySet<unknown> = new Set(["running", "exited", "stopped", "failed", "lost"]);

function parseRecord(text: string, id: string): BackgroundRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined; // the caller says which file it is
  }
  const { background_id, owner, state, pid, run, cwd, sandbox, started_at } = Object(value) as Partial<
    Record<keyof BackgroundRecord, unknown>
  >;
  const areTexts = [owner, cwd, sandbox, started_at].every(isText);
  const isRun = isText(run) || (Array.isArray(run) && run.every(isText));
  const isRecord = background_id === id && areTexts && STATES.has(state) && Number.isInteger(pid) && isRun;
  return isRecord ? (value as BackgroundRecord) : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** Removes the oldest ended commands with their logs. Returns the removed IDs. */
export function dropOld(folder: string): readonly string[] {
  const ended = readRecords(folder).filter(({ state }) => state !== "running");
  const names = readdirSync(folder);
  const old = ended.slice(0, Math.max(0, ended.length - KEPT)).map(({ background_id }) => background_id);
  for (const id of old) for (const name of names) if (name.startsWith(`${id}.`)) unlinkSync(join(folder, name));
  return old;
}
