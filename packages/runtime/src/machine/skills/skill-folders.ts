import { closeSync, fstatSync } from "node:fs";
import { join } from "node:path";
import type { SkillSource } from "../../contract/skills.ts";
import { isInside } from "../../paths/inside.ts";
import { judgePlace, judgeSensitivity } from "../../policy/paths/check-path.ts";
import type { Places } from "../../policy/facts.ts";
import { openFolder, openHandle, realPathOf } from "../system/handle.ts";
import { reasonOf } from "../../protocol/error-reason.ts";
import { isSystemError } from "../system/system-error.ts";
import { readNames } from "./read-names.ts";
import type { Names } from "./read-names.ts";
import type { SkillPlace } from "./skill-sources.ts";
import type { Judge } from "./skill-file.ts";

/** An existing place, with its real path. */
export interface OpenPlace extends SkillPlace {
  readonly real: string;
}

/** A folder with a SKILL.md in it. */
export interface SkillFolder {
  /** The folder's name. */
  readonly name: string;
  readonly source: SkillSource;
  readonly real: string;
  /** The actual spelling of SKILL.md. */
  readonly skill_md: string;
  /** Links may lead to folders in this place. */
  readonly place: string;
  readonly judge: Judge;
}

/** A folder that may not be read. */
export interface ClosedFolder extends Pick<SkillFolder, "name" | "source" | "real"> {
  readonly why: string;
}

/** Limits of the search in all places together. Anything beyond is reported, not read. */
// oxfmt-ignore
const LIMITS = {
  entries_a_folder: 2_000,
  folders:          2_000,
  depth:            4,
} as const;

interface WalkOptions {
  readonly workspace: Places;
  readonly signal: AbortSignal;
  /** Collects exceeded limits and errors, as sentences. */
  readonly problems: string[];
}

/**
 * The folders with a SKILL.md in these places, directly or nested. Does not search inside a skill. Skips hidden folders
 * and installed packages. Checks the real path of every folder before listing it.
 */
export async function* findFolders(
  places: readonly OpenPlace[],
  options: WalkOptions,
): AsyncIterable<SkillFolder | ClosedFolder> {
  const seen = new Set<string>();
  let left: number = LIMITS.folders;
  for (const place of places) {
    const open: FoldersBelow[] = [
      { real: place.real, depth: 0, names: listed(place.real, place.folder, options.problems) },
    ];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const deeper: FoldersBelow[] = [];
      for (const { name, kind } of foldersAmong(next.names)) {
        options.signal.throwIfAborted();
        if (left-- === 0) {
          options.problems.push(
            `More than ${LIMITS.folders} folders were found; "${name}" in "${next.real}" and those after it were skipped`,
          );
          return;
        }
        if (left % 100 === 0) await new Promise((resolve) => setImmediate(resolve)); // yield to the event loop
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

interface FoldersBelow {
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
  /** A link must lead into one of these: in a collection of skills, the publisher created it, not the user. */
  readonly within: readonly string[] | undefined;
  readonly options: WalkOptions;
}

/** Undefined if the folder does not exist. With `names`: not a skill itself, but may contain skills. */
function lookInto(
  path: string,
  { name, place, within, options: { workspace, problems } }: LookOptions,
): SkillFolder | ClosedFolder | Pick<FoldersBelow, "real" | "names"> | undefined {
  const folder = realFolderOf(path);
  if (folder === undefined) return undefined;
  // Files that tools can change count as part of the workspace, even if found through the user's own folder.
  const source = isInRoots(folder.real, workspace) ? "project" : place.source;
  const about = { name, source, real: folder.real };
  if ("problem" in folder) return { ...about, why: folder.problem };
  const judge: Judge =
    source === "project" ? (real) => judgePlace(real, workspace)?.reason : (real) => judgeOwn(real, place, workspace);
  const isOut = within?.every((each) => !isInside(each, folder.real)) === true;
  const closed = judge(folder.real) ?? (isOut ? "it is a link that points outside the skills folder" : undefined);
  if (closed !== undefined) return { ...about, why: closed };
  const names = listed(folder.real, path, problems);
  const skill_md = findSkillMd(names);
  return skill_md === undefined ? { real: folder.real, names } : { ...about, skill_md, place: place.real, judge };
}

const SKILL_MD = "SKILL.md";

/** Some publishers write SKILL.md in lower case. */
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
    if (more) problems.push(`"${shown}" has more than ${LIMITS.entries_a_folder} entries; the rest was skipped`);
    return names;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    problems.push(`Cannot look for skills in "${shown}": ${reasonOf(error)}`);
    return [];
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** Undefined if no folder of that name exists. */
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
 * For the user's own skills, whose links may lead anywhere except into the workspace and to sensitive paths. Only names
 * below the skills folder are checked, because the folder itself may be in the configuration, which is closed to tools.
 */
function judgeOwn(real: string, place: OpenPlace, workspace: Places): string | undefined {
  if (isInRoots(real, workspace)) return "it is in the workspace, where tools can change it";
  const asked = isInside(place.real, real) ? `/skills${real.slice(place.real.length)}` : real;
  return judgeSensitivity(asked, workspace)?.reason;
}

/** Undefined if the place does not exist, which is the usual case. */
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
