import { closeSync, fstatSync } from "node:fs";
import { join } from "node:path";
import type { SkillSource } from "../../contract/skills.ts";
import { isInside } from "../../paths/inside.ts";
import { judgePlace, judgeSensitivity } from "../../policy/check-path.ts";
import type { Places } from "../../policy/facts.ts";
import { openFolder, openHandle, realPathOf } from "../files/handle.ts";
import { isSystemError, reasonOf } from "../files/system-error.ts";
import { readNames } from "./read-names.ts";
import type { Names } from "./read-names.ts";
import type { SkillPlace } from "./places.ts";
import type { Judge } from "./skill-file.ts";

/** A place that is there: `real` is where it leads. */
export interface OpenPlace extends SkillPlace {
  readonly real: string;
}

/** A folder with a SKILL.md in it. */
export interface SkillFolder {
  /** Of the folder. */
  readonly name: string;
  readonly source: SkillSource;
  readonly real: string;
  /** SKILL.md as it is spelled there. */
  readonly skill_md: string;
  /** Links may lead to folders in here. */
  readonly place: string;
  readonly judge: Judge;
}

/** One that may not be looked into. */
export interface ClosedFolder extends Pick<SkillFolder, "name" | "source" | "real"> {
  readonly why: string;
}

/** What is looked at to find skills, in all places together. More is told, not read. */
// oxfmt-ignore
const LIMITS = {
  entries_a_folder: 2_000,
  folders:          2_000,
  depth:            4,
} as const;

interface WalkOptions {
  readonly workspace: Places;
  readonly signal: AbortSignal;
  /** Where limits and errors are told, as sentences. */
  readonly problems: string[];
}

/**
 * The folders with a SKILL.md in these places: directly, or in folders of folders. Nothing is looked for below a skill.
 * Hidden folders and installed packages are skipped. Every folder is judged by where it really leads before it is listed.
 */
export async function* findFolders(
  places: readonly OpenPlace[],
  options: WalkOptions,
): AsyncIterable<SkillFolder | ClosedFolder> {
  const seen = new Set<string>();
  let left: number = LIMITS.folders;
  for (const place of places) {
    const open: Below[] = [{ real: place.real, depth: 0, names: listed(place.real, place.folder, options.problems) }];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const deeper: Below[] = [];
      for (const { name, kind } of foldersAmong(next.names)) {
        options.signal.throwIfAborted();
        if (left-- === 0) {
          options.problems.push(
            `More than ${LIMITS.folders} folders were found; "${name}" in "${next.real}" and those after it were not looked at`,
          );
          return;
        }
        if (left % 100 === 0) await new Promise((resolve) => setImmediate(resolve)); // others get their turn
        const within = kind === "link" && next.depth > 0 ? [place.real, next.real] : undefined;
        const found = lookInto(join(next.real, name), { name, place, within, options });
        if (found === undefined || seen.has(found.real)) continue;
        seen.add(found.real);
        if (!("names" in found)) yield found;
        else if (next.depth + 1 < LIMITS.depth) deeper.push({ ...found, depth: next.depth + 1 });
      }
      open.push(...deeper.reverse());
    }
  }
}

interface Below {
  readonly real: string;
  readonly depth: number;
  readonly names: Names;
}

const SKIPPED = /^\.|^node_modules$/;

function foldersAmong(names: Names): Names {
  return names.filter(({ name, kind }) => (kind === "directory" || kind === "link") && !SKIPPED.test(name));
}

interface LookOptions {
  readonly name: string;
  readonly place: OpenPlace;
  /** It has to lead into one of these: a link in a collection of skills was made by its publisher. */
  readonly within: readonly string[] | undefined;
  readonly options: WalkOptions;
}

/** Undefined where there is no folder. With `names`: it is not a skill, and skills may be below. */
function lookInto(
  path: string,
  { name, place, within, options: { workspace, problems } }: LookOptions,
): SkillFolder | ClosedFolder | Pick<Below, "real" | "names"> | undefined {
  const folder = realFolderOf(path);
  if (folder === undefined) return undefined;
  // What tools can change counts as the workspace's, also where it was found through the person's own folder.
  const source = isInRoots(folder.real, workspace) ? "project" : place.source;
  const about = { name, source, real: folder.real };
  if ("problem" in folder) return { ...about, why: folder.problem };
  const judge: Judge =
    source === "project" ? (real) => judgePlace(real, workspace)?.reason : (real) => judgeOwn(real, place, workspace);
  const isOut = within?.every((each) => !isInside(each, folder.real)) === true;
  const closed = judge(folder.real) ?? (isOut ? "it is a link that leads outside the folder of skills" : undefined);
  if (closed !== undefined) return { ...about, why: closed };
  const names = listed(folder.real, path, problems);
  const skill_md = findSkillMd(names);
  return skill_md === undefined ? { real: folder.real, names } : { ...about, skill_md, place: place.real, judge };
}

const SKILL_MD = "SKILL.md";

/** Some publishers write it in lower case. */
function findSkillMd(names: Names): string | undefined {
  const all = names.map(({ name }) => name).filter((name) => name.toLowerCase() === SKILL_MD.toLowerCase());
  return all.includes(SKILL_MD) ? SKILL_MD : all[0];
}

function listed(real: string, shown: string, problems: string[]): Names {
  let fd: number | undefined;
  try {
    fd = openFolder(real);
    if (realPathOf(fd) !== real) return [];
    const { names, more } = readNames(fd, LIMITS.entries_a_folder);
    if (more) problems.push(`"${shown}" has more than ${LIMITS.entries_a_folder} entries; the rest was not looked at`);
    return names;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    problems.push(`Cannot look for skills in "${shown}": ${reasonOf(error)}`);
    return [];
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Undefined where there is no folder of that name. */
function realFolderOf(
  path: string,
): { readonly real: string } | { readonly real: string; readonly problem: string } | undefined {
  let fd: number;
  try {
    fd = openHandle(path);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    return { real: path, problem: `its folder cannot be opened (${reasonOf(error)})` };
  }
  try {
    return fstatSync(fd).isDirectory() ? { real: realPathOf(fd) } : undefined;
  } finally {
    closeSync(fd);
  }
}

function isInRoots(real: string, { roots }: Places): boolean {
  return roots.some((root) => isInside(root, real));
}

/**
 * For the person's own skills, whose links may lead anywhere but into the workspace and to sensitive places. Their
 * folder itself may lie in one, for the runtime's configuration is closed to tools: so only names below it count.
 */
function judgeOwn(real: string, place: OpenPlace, workspace: Places): string | undefined {
  if (isInRoots(real, workspace)) return "it lies in the workspace, where tools can change it";
  const asked = isInside(place.real, real) ? `/skills${real.slice(place.real.length)}` : real;
  return judgeSensitivity(asked, workspace)?.reason;
}

/** Undefined where there is no such place, which is the usual case. */
export function openPlace(place: SkillPlace, workspace: Places): OpenPlace | { readonly problem: string } | undefined {
  const cannot = `Cannot look for skills in "${place.folder}"`;
  let fd: number;
  try {
    fd = openHandle(place.folder);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? undefined : { problem: `${cannot}: ${reasonOf(error)}` };
  }
  try {
    const real = realPathOf(fd);
    const closed = place.source === "project" ? judgePlace(real, workspace) : undefined;
    return closed === undefined ? { ...place, real } : { problem: `${cannot}: ${closed.reason}` };
  } finally {
    closeSync(fd);
  }
}
