import { chmodSync, closeSync, lstatSync, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { SkillFile } from "../../contract/skills.ts";
import { ToolError } from "../../protocol/errors.ts";
import { writeWhole } from "../system/bytes.ts";
import type { LoadedSkill } from "./load.ts";
import { readSkillFile, UnusableFile } from "./skill-file.ts";

export interface SkillCopy {
  /** Its real path. */
  readonly folder: string;
  /** Works even if a script changed the copy. */
  remove(): void;
}

/**
 * A read-only copy of a skill for one call. The content that was hashed and trusted is what runs, helpers included,
 * even if the skill changes meanwhile; and no script can change the skill, sandboxed or not. Throws `Stale` if a file
 * differs from the index.
 */
export async function copySkill({ entry, judge }: LoadedSkill, into: string, signal: AbortSignal): Promise<SkillCopy> {
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

interface CopyOptions extends Pick<LoadedSkill, "judge"> {
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

interface IndexedOptions extends Pick<LoadedSkill, "judge"> {
  /** The skill's folder. */
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly onPiece: (piece: Buffer) => void;
}

/** Reads a file of the index again. Throws `Stale` if it has changed. */
export async function readIndexed(file: SkillFile, { folder, ...options }: IndexedOptions): Promise<void> {
  const takeBytes = (bytes: number): void => {
    if (bytes !== file.bytes) throw new UnusableFile("its size changed");
  };
  try {
    const found = await readSkillFile(folder, file.path, { ...options, takeBytes });
    if (found.sha256 !== file.sha256 || found.executable !== file.executable)
      throw new UnusableFile("its content changed");
  } catch (error) {
    if (!(error instanceof UnusableFile)) throw error;
    throw new ToolError(
      "Stale",
      `Cannot use "${file.path}" of the skill: it changed during the call (${error.message})`,
      { path: file.path, hint: "Read the skill again, then retry." },
      error,
    );
  }
}

/** Entries of read-only folders cannot be removed, so folders are made writable first. Links are not followed. */
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
