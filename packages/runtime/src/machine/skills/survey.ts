import { closeSync, fstatSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { SkillEntry, SkillFile } from "../../contract/skills.ts";
import { isInside } from "../../paths/inside.ts";
import { HEAD_BYTES, isInScripts, isPythonModule, waysToRun } from "../../skills/interpreter.ts";
import type { HowToRun } from "../../skills/interpreter.ts";
import { openFolder, openHandle, realPathOf } from "../system/handle.ts";
import { reasonOf } from "../../protocol/error-reason.ts";
import { isSystemError } from "../system/system-error.ts";
import { readNames } from "./read-names.ts";
import type { Names } from "./read-names.ts";
import { readSkillFile, UnusableFile } from "./skill-file.ts";
import type { Judge, ReadOptions } from "./skill-file.ts";
import type { SkillFolder } from "./skill-folders.ts";

/** Limits per skill. Published skills stay far below; a larger folder is not a skill. */
// oxfmt-ignore
const LIMITS = {
  skill_md_bytes: 262_144,
  script_bytes:   262_144, // read from a script, to distinguish a module from a program
  files:          500,
  bytes:          33_554_432,
  depth:          12,
} as const;

/** Remaining read budget for all skills together, so that no workspace can make the search endless. */
export interface Budget {
  files: number;
  bytes: number;
}

/** A file that can be run, and how. */
export interface RunnableFile {
  readonly file: SkillFile;
  readonly ways: readonly HowToRun[];
}

export interface Survey {
  readonly skill_md: SkillFile;
  readonly text: Buffer;
  /** SKILL.md, then the other files in path order. */
  readonly files: readonly SkillFile[];
  readonly scripts: readonly RunnableFile[];
  /** The paths of links that were followed. */
  readonly links: readonly string[];
  readonly left_out: SkillEntry["left_out"];
  /** The access check for its files, repeated when they are used. */
  readonly judge: Judge;
}

interface SurveyOptions {
  readonly signal: AbortSignal;
  readonly budget: Budget;
}

type Options = SurveyOptions & SkillFolder;

/** The files together exceed the limit. */
class LimitExceeded extends Error {}

/** Lists and hashes the files in a skill's folder, by real path, within limits. Opens only permitted files. */
export async function surveySkill(
  folder: SkillFolder,
  options: SurveyOptions,
): Promise<Survey | { readonly problem: string }> {
  const all: Options = { ...folder, ...options };
  const { problem, ...listed } = listFiles(all);
  if (problem !== undefined) return { problem };
  try {
    return await readFiles(listed, all);
  } catch (error) {
    if (error instanceof LimitExceeded || error instanceof UnusableFile) return { problem: error.message };
    throw error;
  }
}

/** SKILL.md alone. Throws `UnusableFile`. */
export async function readSkillMd(
  { real, skill_md, judge }: SkillFolder,
  options: Omit<ReadOptions, "judge">,
): Promise<SkillFile> {
  const takeBytes = (bytes: number): void => {
    if (bytes > LIMITS.skill_md_bytes) {
      throw new UnusableFile(`it has ${bytes} bytes, and at most ${LIMITS.skill_md_bytes} are read`);
    }
    options.takeBytes?.(bytes);
  };
  try {
    return await readSkillFile(real, skill_md, { ...options, judge, takeBytes });
  } catch (error) {
    throw error instanceof UnusableFile ? new UnusableFile(`its SKILL.md is not read: ${error.message}`, error) : error;
  }
}

async function readFiles({ paths, links, left_out }: Omit<ListedFile, "problem">, options: Options): Promise<Survey> {
  const { real, signal } = options;
  const takeBytes = bytesTaker(options.budget);
  const pieces: Buffer[] = [];
  const home = { real: "" };
  const noting: Judge = (each) => {
    home.real = each;
    return options.judge(each);
  };
  const folder = { ...options, judge: noting };
  const skill_md = await readSkillMd(folder, { signal, takeBytes, onPiece: (piece) => pieces.push(piece) });
  const judge = judgeFiles(options, home.real);
  const files = [skill_md];
  const scripts: RunnableFile[] = [];
  for (const path of paths) {
    if (path === skill_md.path) continue;
    signal.throwIfAborted();
    const start = isInScripts(path) ? new FileStart() : undefined;
    try {
      const onPiece = start === undefined ? {} : { onPiece: (piece: Buffer) => start.take(piece) };
      const file = await readSkillFile(real, path, { judge, signal, takeBytes, ...onPiece });
      files.push(file);
      const runnable = start && runnableOf(file, start.bytes());
      if (runnable !== undefined) scripts.push(runnable);
    } catch (error) {
      if (!(error instanceof UnusableFile)) throw error;
      left_out.push({ path, why: error.message });
    }
  }
  const used = new Set(files.map(({ path }) => path));
  const isUsed = (link: string): boolean => used.has(link) || files.some(({ path }) => path.startsWith(`${link}/`));
  return { skill_md, text: Buffer.concat(pieces), files, scripts, links: links.filter(isUsed), left_out, judge };
}

/**
 * Links among a skill's files may lead to files in the place where the skill was found. If SKILL.md is itself a link
 * into a folder of the same name elsewhere, as with dotfiles kept in one repository, links may also lead to files
 * beside its target. Any other link could expose arbitrary files of the user.
 */
function judgeFiles({ name, source, place, real: top, judge }: SkillFolder, skill_md: string): Judge {
  if (source === "project") return judge; // stays inside the roots, which tools can read anyway
  const beside = dirname(skill_md);
  const isSkill = basename(beside) === name && basename(skill_md).toLowerCase() === "skill.md";
  const folders = [top, place, ...(isSkill ? [beside] : [])];
  return (real) => {
    const isIn = real === skill_md || folders.some((folder) => isInside(folder, real));
    return judge(real) ?? (isIn ? undefined : "it points outside the skills folder");
  };
}

/** Stores the beginning of a file. */
class FileStart {
  readonly #pieces: Buffer[] = [];
  #left: number = LIMITS.script_bytes;

  take(piece: Buffer): void {
    if (this.#left <= 0) return;
    this.#pieces.push(Buffer.from(piece.subarray(0, this.#left)));
    this.#left -= piece.length;
  }

  bytes(): Buffer {
    return Buffer.concat(this.#pieces);
  }
}

function runnableOf(file: SkillFile, start: Buffer): RunnableFile | undefined {
  const ways = waysToRun({ ...file, head: start.subarray(0, HEAD_BYTES) });
  return "refusal" in ways || isPythonModule(file.path, start.toString("latin1")) ? undefined : { file, ways };
}

function bytesTaker(budget: Budget): (bytes: number) => void {
  let left: number = LIMITS.bytes;
  return (bytes) => {
    left -= bytes;
    if (left < 0) throw new LimitExceeded(`its files exceed ${LIMITS.bytes >> 20} MB`);
    if (bytes > budget.bytes) throw new LimitExceeded("the files of all skills together exceed the limit");
    budget.bytes -= bytes;
  };
}

interface ListedFile {
  readonly paths: readonly string[];
  readonly links: readonly string[];
  readonly left_out: { path: string; why: string }[];
  readonly problem?: string;
}

interface Subfolder {
  /** Ends with "/", or is empty. */
  readonly below: string;
  readonly real: string;
  readonly depth: number;
}

/** Lists names first, so that the number of files is known before any is read. */
function listFiles(options: Options): ListedFile {
  const { budget, real } = options;
  const paths: string[] = [];
  const links: string[] = [];
  const left_out: { path: string; why: string }[] = [];
  const folders: Subfolder[] = [{ below: "", real, depth: 0 }];
  const followed = new Set([real]);
  for (let next = folders.shift(); next !== undefined; next = folders.shift()) {
    const { below, depth } = next;
    const entries = listFolder(next.real, Math.min(LIMITS.files, budget.files));
    if ("why" in entries) {
      left_out.push({ path: below === "" ? options.skill_md : below, why: entries.why });
      continue;
    }
    budget.files -= entries.names.length;
    for (const { name, kind } of entries.names) {
      const path = below + name;
      const target =
        kind === "link" ? linkedFolder(join(next.real, name), next.real, { ...options, followed }) : undefined;
      if (kind === "link") links.push(path);
      if (typeof target === "object") left_out.push({ path, why: target.why });
      else if (kind === "directory" || target !== undefined) {
        if (depth < LIMITS.depth)
          folders.push({ below: `${path}/`, real: target ?? join(next.real, name), depth: depth + 1 });
        else left_out.push({ path, why: "it is nested too deep" });
      } else if (kind === "other") left_out.push({ path, why: "it is not a regular file" });
      else paths.push(path);
    }
    if (paths.length + folders.length > LIMITS.files || (entries.more && budget.files > 0)) {
      return { paths, links, left_out, problem: `it has more than ${LIMITS.files} files and folders` };
    }
    if (entries.more) return { paths, links, left_out, problem: "all skills together exceed the file limit" };
  }
  // By code units, so that the digest is the same on every machine.
  return { paths: paths.sort((one, other) => (one < other ? -1 : 1)), links, left_out };
}

/**
 * The target of a link to a folder, if it may be part of the skill: inside the place where the skill was found, and
 * followed only once, so that link cycles end. Undefined if it is not a folder; files are checked when they are read.
 */
function linkedFolder(
  path: string,
  from: string,
  { place, real: top, judge, followed }: Pick<Options, "place" | "real" | "judge"> & { readonly followed: Set<string> },
): string | { readonly why: string } | undefined {
  let fd: number;
  try {
    fd = openHandle(path);
  } catch (error) {
    if (isSystemError(error)) return undefined; // reading it reports why
    throw error;
  }
  try {
    if (!fstatSync(fd).isDirectory()) return undefined;
    const real = realPathOf(fd);
    const closed = judge(real);
    if (closed !== undefined) return { why: closed };
    if (!isInside(place, real) && !isInside(top, real))
      return { why: "it points to a folder outside the skills folder" };
    if (isInside(real, from) || followed.has(real))
      return { why: "it points to a folder that is already part of the skill" };
    followed.add(real);
    return real;
  } finally {
    closeSync(fd);
  }
}

function listFolder(
  wanted: string,
  most: number,
): { readonly names: Names; readonly more: boolean } | { readonly why: string } {
  let fd: number;
  try {
    fd = openFolder(wanted);
  } catch (error) {
    if (isSystemError(error)) return { why: `it cannot be opened (${reasonOf(error)})` };
    throw error;
  }
  try {
    if (realPathOf(fd) !== wanted) return { why: "its real path changed since it was found" };
    return readNames(fd, most);
  } finally {
    closeSync(fd);
  }
}
