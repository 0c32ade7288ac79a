import { chmodSync, existsSync, mkdirSync, readdirSync, rmdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { hasMark, isMarkInProgress, MARK_FILE, writeMark } from "./mark.ts";
import { readOwnText } from "../../own-files/read-own-file.ts";

/** Names the workspace whose state this is, for people and `doctor`. */
const WORKSPACE_FILE = "workspace";

const BINDING: ReadonlySet<string> = new Set([MARK_FILE, WORKSPACE_FILE, ".gitignore"]);

/** Whether binding a folder puts this name into it: no state yet. Another start may be writing its mark just now. */
export function isBinding(name: string): boolean {
  return BINDING.has(name) || isMarkInProgress(name);
}

export interface Binding {
  readonly keyFile: string;
  /** Others may fill the folder's surroundings: a workspace, a repository. */
  readonly isShared: boolean;
  readonly workspace: string | undefined;
}

/** Makes the folder where it is missing, for this user only, and marks it as this user's. It was checked before. */
export function bindFolder(folder: string, { keyFile, isShared, workspace }: Binding): void {
  makeFolders(folder);
  const mode = statSync(folder).mode & 0o777;
  if ((mode & 0o022) !== 0) chmodSync(folder, mode & ~0o022); // one with content of that mode was refused before
  if (isShared) writeOnce(join(folder, ".gitignore"), "*\n"); // or git add -A would commit it
  if (workspace !== undefined) writeOnce(join(folder, WORKSPACE_FILE), `${workspace}\n`);
  if (hasMark(folder, keyFile)) return;
  try {
    writeMark(folder, keyFile);
  } catch (error) {
    // Where no one else fills the folder it is believed without; the next start that can write marks it.
    if (isShared) throw error;
  }
}

/** One by one: Node's own way goes round in circles where a file system takes no folders, as /proc does. */
function makeFolders(folder: string): void {
  if (existsSync(folder)) return;
  if (folder !== dirname(folder)) makeFolders(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error; // another process was quicker
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

/** Removes a folder in which there is no state. Throws where somebody has put some there since. */
export function removeUnused(folder: string): void {
  if (!existsSync(folder)) return;
  for (const name of readdirSync(folder)) if (isBinding(name)) rmSync(join(folder, name), { force: true });
  rmdirSync(folder);
}

/** The workspace that a folder was made for. */
export function workspaceOf(folder: string): string | undefined {
  return readIfThere(join(folder, WORKSPACE_FILE))?.replace(/\n$/, "");
}
