import { closeSync, lstatSync, opendirSync } from "node:fs";
import { join } from "node:path";
import type { SkillEntry, SkillFile } from "../../contract/skills.ts";
import { kindOf, openFolder, procPath, realPathOf } from "../files/handle.ts";
import { isSystemError, reasonOf } from "../files/system-error.ts";
import { readSkillFile, UnusableFile } from "./skill-file.ts";
import type { Judge, ReadOptions } from "./skill-file.ts";

/** What one skill may have. Published ones stay far below; a folder that is over this is something else. */
// oxfmt-ignore
const LIMITS = {
  skill_md_bytes: 262_144,
  files:          500,
  bytes:          33_554_432,
  depth:          12,
} as const;

/** Made by tools beside the files, and no part of what their author gave away. Neither hashed nor run. */
const NOT_PART: ReadonlySet<string> = new Set([".git", "__pycache__", ".DS_Store"]);

const SKILL_MD = "SKILL.md";

/** What may still be read for all skills together, so that no workspace makes looking for them endless. */
export interface Budget {
  files: number;
  bytes: number;
}

export interface Survey {
  readonly skill_md: SkillFile;
  readonly text: Buffer;
  /** SKILL.md, then the others in the order of their paths. */
  readonly files: readonly SkillFile[];
  readonly left_out: SkillEntry["left_out"];
}

interface SurveyOptions {
  readonly judge: Judge;
  readonly signal: AbortSignal;
  readonly budget: Budget;
}

/** All files together are more than is read. */
class TooMuch extends Error {}

/**
 * Everything in the folder of a skill, by its real path: hashed, bounded, nothing opened that may not be. Undefined
 * where it has no SKILL.md, and so is no skill.
 */
export async function surveySkill(
  folder: string,
  options: SurveyOptions,
): Promise<Survey | { readonly problem: string } | undefined> {
  if (!hasSkillMd(folder)) return undefined;
  const { paths, left_out, problem } = listFiles(folder, options.budget);
  if (problem !== undefined) return { problem };
  try {
    return await readFiles(folder, { paths, left_out }, options);
  } catch (error) {
    if (error instanceof TooMuch || error instanceof UnusableFile) return { problem: error.message };
    throw error;
  }
}

function hasSkillMd(folder: string): boolean {
  return lstatSync(join(folder, SKILL_MD), { throwIfNoEntry: false }) !== undefined;
}

async function readFiles(folder: string, { paths, left_out }: Listed, options: SurveyOptions): Promise<Survey> {
  const take = bytesTaker(options.budget);
  const pieces: Buffer[] = [];
  const skill_md = await readSkillMd(folder, { ...options, takeBytes: take, onPiece: (piece) => pieces.push(piece) });
  const files = [skill_md];
  for (const path of paths) {
    if (path === SKILL_MD) continue;
    options.signal.throwIfAborted();
    try {
      files.push(await readSkillFile(folder, path, { ...options, takeBytes: take }));
    } catch (error) {
      if (!(error instanceof UnusableFile)) throw error;
      left_out.push({ path, why: error.message });
    }
  }
  return { skill_md, text: Buffer.concat(pieces), files, left_out };
}

async function readSkillMd(folder: string, options: ReadOptions): Promise<SkillFile> {
  const takeBytes = (bytes: number): void => {
    if (bytes > LIMITS.skill_md_bytes) {
      throw new UnusableFile(`it has ${bytes} bytes, and at most ${LIMITS.skill_md_bytes} are read`);
    }
    options.takeBytes?.(bytes);
  };
  try {
    return await readSkillFile(folder, SKILL_MD, { ...options, takeBytes });
  } catch (error) {
    throw error instanceof UnusableFile ? new UnusableFile(`its SKILL.md is not read: ${error.message}`, error) : error;
  }
}

function bytesTaker(budget: Budget): (bytes: number) => void {
  let left: number = LIMITS.bytes;
  return (bytes) => {
    left -= bytes;
    if (left < 0) throw new TooMuch(`its files are over ${LIMITS.bytes >> 20} MB`);
    if (bytes > budget.bytes) throw new TooMuch("the files of all skills together are over what is read");
    budget.bytes -= bytes;
  };
}

interface Listed {
  readonly paths: readonly string[];
  readonly left_out: { path: string; why: string }[];
  readonly problem?: string;
}

/** Names first: how many there are is known before anything is read. */
function listFiles(folder: string, budget: Budget): Listed {
  const paths: string[] = [];
  const left_out: { path: string; why: string }[] = [];
  const folders = [{ below: "", depth: 0 }];
  for (let next = folders.shift(); next !== undefined; next = folders.shift()) {
    const { below, depth } = next;
    const entries = listFolder(folder, below, { most: Math.min(LIMITS.files, budget.files) });
    if ("why" in entries) {
      left_out.push({ path: below === "" ? SKILL_MD : below, why: entries.why });
      continue;
    }
    budget.files -= entries.names.length;
    for (const { name, kind } of entries.names) {
      const path = below + name;
      if (kind === "directory" && depth < LIMITS.depth) folders.push({ below: `${path}/`, depth: depth + 1 });
      else if (kind === "directory") left_out.push({ path, why: "it lies too deep" });
      else if (kind === "other") left_out.push({ path, why: "it is no regular file" });
      else paths.push(path);
    }
    if (paths.length + folders.length > LIMITS.files || (entries.more && budget.files > 0)) {
      return { paths, left_out, problem: `it has more than ${LIMITS.files} files and folders` };
    }
    if (entries.more) return { paths, left_out, problem: "all skills together have more files than are read" };
  }
  // By code units, which is the same wherever the digest is made.
  return { paths: paths.sort((one, other) => (one < other ? -1 : 1)), left_out };
}

type Names = readonly { readonly name: string; readonly kind: ReturnType<typeof kindOf> }[];

function listFolder(
  folder: string,
  below: string,
  { most }: { readonly most: number },
): { readonly names: Names; readonly more: boolean } | { readonly why: string } {
  const wanted = below === "" ? folder : `${folder}/${below.slice(0, -1)}`;
  let fd: number;
  try {
    fd = openFolder(wanted);
  } catch (error) {
    if (isSystemError(error)) return { why: `it cannot be opened (${reasonOf(error)})` };
    throw error;
  }
  try {
    if (realPathOf(fd) !== wanted) return { why: "it leads elsewhere than when it was found" };
    return readNames(fd, most);
  } finally {
    closeSync(fd);
  }
}

/** At most so many entries of an open folder, sorted by name. */
export function readNames(fd: number, most: number): { readonly names: Names; readonly more: boolean } {
  const names: { name: string; kind: ReturnType<typeof kindOf> }[] = [];
  const open = opendirSync(procPath(fd));
  try {
    for (let entry = open.readSync(); entry !== null; entry = open.readSync()) {
      if (NOT_PART.has(entry.name)) continue;
      if (names.length >= most) return { names, more: true };
      names.push({ name: entry.name, kind: kindOf(entry) });
    }
  } finally {
    open.closeSync();
  }
  return { names: names.sort((one, other) => (one.name < other.name ? -1 : 1)), more: false };
}
