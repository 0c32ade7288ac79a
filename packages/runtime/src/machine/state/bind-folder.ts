import { chmodSync, existsSync, mkdirSync, readdirSync, rmdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { hasMark, isMarkInProgress, MARK_FILE, writeMark } from "./mark.ts";
import { readOwnText } from "../../own-files/read-own-file.ts";

/** Names the workspace that the state belongs to, for users and `doctor`. */
const WORKSPACE_FILE = "workspace";

const BINDING: ReadonlySet<string> = new Set([MARK_FILE, WORKSPACE_FILE, ".gitignore"]);

/** Whether this name comes from binding a folder, and so is not state yet. Includes marks that are being written. */
export function isBinding(name: string): boolean {
  return BINDING.has(name) || isMarkInProgress(name);
}

export interface Binding {
  readonly keyFile: string;
  /** Others may write to the surrounding folder: a workspace, a repository. */
  readonly isShared: boolean;
  readonly workspace: string | undefined;
}

/** Creates the folder if it is missing, for this user only, and marks it as this user's. The caller checked it. */
export function bindFolder(folder: string, { keyFile, isShared, workspace }: Binding): void {
  makeFolders(folder);
  const mode = statSync(folder).mode & 0o777;
  if ((mode & 0o022) !== 0) chmodSync(folder, mode & ~0o022); // a folder with state and this mode was rejected before
  if (isShared) writeOnce(join(folder, ".gitignore"), "*\n"); // otherwise git add -A would commit it
  if (workspace !== undefined) writeOnce(join(folder, WORKSPACE_FILE), `${workspace}\n`);
  if (hasMark(folder, keyFile)) return;
  try {
    writeMark(folder, keyFile);
  } catch (error) {
    // A folder that no one else writes to is trusted without a mark; the next start that can write adds it.
    if (isShared) throw error;
  }
}

/** One by one: recursive `mkdir` of Node.js loops on file systems that reject folders, such as /proc. */
function makeFolders(folder: string): void {
  if (existsSync(folder)) return;
  if (folder !== dirname(folder)) makeFolders(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error; // another process created it first
  }
}

function writeOnce(path: string, text: string): void {
  if (readIfThere(path) !== text) writeFileSync(path, text, { mode: 0o600 });
}

function readIfThere(path: string): string | undefined {
  try {
    return readOwnText(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Removes a folder without state. Throws if another process has added state since. */
export function removeUnused(folder: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) if (isBinding(name)) rmSync(join(folder, name), { force: true });
  rmdirSync(folder);
}

/** The workspace that a state folder was created for. */
export function workspaceOf(folder: string): string | undefined {
  return readIfThere(join(folder, WORKSPACE_FILE))?.replace(/\n$/, "");
}
