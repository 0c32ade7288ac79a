import { chmodSync, closeSync, lstatSync, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { SkillFile } from "../../contract/skills.ts";
import { ToolError } from "../../protocol/errors.ts";
import { writeWhole } from "../files/bytes.ts";
import type { Loaded } from "./load.ts";
import { readSkillFile, UnusableFile } from "./skill-file.ts";

export interface SkillCopy {
  /** Its real path. */
  readonly folder: string;
  /** Whatever a script did to it. */
  remove(): void;
}

/**
 * A copy of a skill for one call, to be read and executed only. What runs is what was hashed and trusted, helpers
 * included, also where the skill changes meanwhile; and nothing that runs changes the skill, sandbox or not.
 * Throws `Stale` where a file is another than in the index.
 */
export async function copySkill({ entry, judge }: Loaded, into: string, signal: AbortSignal): Promise<SkillCopy> {
  mkdirSync(into, { recursive: true, mode: 0o700 });
  const parent = mkdtempSync(join(into, "copy-"));
  const remove = (): void => removeTree(parent);
  const folder = join(parent, entry.name);
  try {
    const folders = new Set([folder]);
    mkdirSync(folder);
    for (const file of entry.files) {
      const target = join(folder, file.path);
      if (!folders.has(dirname(target))) makeFolders(folder, file.path, folders);
      await copyFile(file, { from: entry.folder, target, judge, signal });
    }
    for (const each of folders) chmodSync(each, 0o555);
    return { folder, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

function makeFolders(folder: string, path: string, made: Set<string>): void {
  let at = folder;
  for (const name of path.split("/").slice(0, -1)) {
    at = join(at, name);
    if (!made.has(at)) mkdirSync(at);
    made.add(at);
  }
}

interface CopyOptions extends Pick<Loaded, "judge"> {
  readonly from: string;
  readonly target: string;
  readonly signal: AbortSignal;
}

async function copyFile(file: SkillFile, { from, target, judge, signal }: CopyOptions): Promise<void> {
  const fd = openSync(target, "wx", file.executable ? 0o555 : 0o444);
  try {
    await readIndexed(file, { folder: from, judge, signal, onPiece: (piece) => writeWhole(fd, piece) });
  } finally {
    closeSync(fd);
  }
}

interface IndexedOptions extends Pick<Loaded, "judge"> {
  /** Of the skill. */
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly onPiece: (piece: Buffer) => void;
}

/** Reads a file again, as the index has it. Throws `Stale` where it is another by now. */
export async function readIndexed(file: SkillFile, { folder, ...options }: IndexedOptions): Promise<void> {
  const takeBytes = (bytes: number): void => {
    if (bytes !== file.bytes) throw new UnusableFile("its size is another");
  };
  try {
    const found = await readSkillFile(folder, file.path, { ...options, takeBytes });
    if (found.sha256 !== file.sha256 || found.executable !== file.executable)
      throw new UnusableFile("its content is another");
  } catch (error) {
    if (!(error instanceof UnusableFile)) throw error;
    throw new ToolError(
      "Stale",
      `Cannot use "${file.path}" of the skill: it changed while the call was made (${error.message})`,
      { path: file.path, hint: "Read the skill again, then retry." },
      error,
    );
  }
}

/** Folders that may not be written cannot be emptied, so they are made writable first. Links are not followed. */
function removeTree(folder: string): void {
  const open = [folder];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (!lstatSync(next).isDirectory()) continue;
    chmodSync(next, 0o700);
    for (const entry of readdirSync(next, { withFileTypes: true }))
      if (entry.isDirectory()) open.push(join(next, entry.name));
  }
  rmSync(folder, { recursive: true, force: true });
}
