import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { STATE_FOLDERS } from "./examine-folder.ts";
import { readOwnText } from "../../own-files/read-own-file.ts";

/** Names in a state folder. `config.json` and `skills` beside them belong to the project and are not moved. */
// oxfmt-ignore
const STATE_NAMES: ReadonlySet<string> = new Set([
  "runs", ...STATE_FOLDERS, "grants.json", "cursor.key", "http.token", "serve.lock", "serve.pid", "upkeep.lock",
]);

/** The database has companion files: its log, and copies made by a migration. */
const DATABASE = "autonous.db";

/** Not a folder, or not readable by this user: for example a link loop. */
const NO_FOLDER: ReadonlySet<string> = new Set(["ENOENT", "ENOTDIR", "ELOOP", "EACCES", "EPERM", "ENAMETOOLONG"]);

/** The names in a folder that are Autonous state. Empty if the folder does not exist or cannot be read. */
export function stateNamesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => STATE_NAMES.has(name) || name.startsWith(DATABASE));
  } catch (error) {
    if (NO_FOLDER.has((error as NodeJS.ErrnoException).code ?? "")) return [];
    throw error;
  }
}

/** Recreated when needed: only `doctor` leaves them in a folder in which nothing was ever recorded. */
const REMADE: ReadonlySet<string> = new Set(["sandbox", "locks", "running"]);

/** Whether removing the folder would lose data. */
export function hasState(folder: string): boolean {
  return stateNamesIn(folder).some((name) => !REMADE.has(name));
}

/** Marks a move in progress in the new folder, with its source: an interrupted move is resumed. */
const MOVING_FILE = "moving";

/** Moves state name by name, each atomically, without overwriting. */
export function moveState(from: string, to: string): void {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  writeFileSync(join(to, MOVING_FILE), from, { mode: 0o600 });
  for (const name of stateNamesIn(from)) {
    if (!existsSync(join(to, name))) moveOne(join(from, name), join(to, name));
    else if (REMADE.has(name)) rmSync(join(from, name), { recursive: true, force: true });
  }
}

export function isMoving(from: string, to: string): boolean {
  try {
    return readOwnText(join(to, MOVING_FILE)) === from;
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return false;
    throw error;
  }
}

export function endMoving(to: string): void {
  rmSync(join(to, MOVING_FILE), { force: true });
}

function moveOne(source: string, target: string): void {
  try {
    renameSync(source, target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
    const partial = `${target}.part`;
    rmSync(partial, { recursive: true, force: true });
    cpSync(source, partial, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true });
    renameSync(partial, target);
    rmSync(source, { recursive: true, force: true });
  }
}
