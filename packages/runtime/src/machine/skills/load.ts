import { closeSync, fstatSync } from "node:fs";
import { join } from "node:path";
import type { BrokenSkill, SkillEntry, SkillIdentity } from "../../contract/skills.ts";
import { isInside } from "../../paths/inside.ts";
import { judgePlace, judgeSensitivity } from "../../policy/check-path.ts";
import type { Places } from "../../policy/facts.ts";
import { parseSkill } from "../../skills/skill.ts";
import { openHandle, realPathOf } from "../files/handle.ts";
import { isSystemError, reasonOf } from "../files/system-error.ts";
import type { SkillPlace } from "./places.ts";
import { digestOf } from "./skill-file.ts";
import type { Judge } from "./skill-file.ts";
import { surveySkill } from "./survey.ts";
import type { Budget } from "./survey.ts";

/** Whether a person has trusted exactly this content. Asked only for skills of the source `project`. */
export type IsTrusted = (skill: SkillIdentity) => boolean | Promise<boolean>;

/** A place that is there: `real` is where it leads. */
export interface OpenPlace extends SkillPlace {
  readonly real: string;
}

export interface Loaded {
  readonly entry: SkillEntry;
  readonly body: string;
  /** What was asked about its files, to be asked again when they are used. */
  readonly judge: Judge;
}

export interface LoadOptions {
  readonly workspace: Places;
  readonly isTrusted: IsTrusted;
  readonly signal: AbortSignal;
  readonly budget: Budget;
}

/** The skill of that name in a place as it is now; undefined where there is none. */
export async function loadSkill(
  place: OpenPlace,
  name: string,
  options: LoadOptions,
): Promise<Loaded | { readonly broken: BrokenSkill } | undefined> {
  const { workspace, isTrusted, signal, budget } = options;
  const folder = realFolderOf(join(place.real, name));
  if (folder === undefined) return undefined;
  // What tools can change counts as the workspace's, whoever's folder it was found through.
  const source = isInRoots(folder.real, workspace) ? "project" : place.source;
  const broken = (problems: readonly string[]) => ({ broken: { name, source, folder: folder.real, problems } });
  if ("problem" in folder) return broken([folder.problem]);
  const judge: Judge =
    source === "project" ? (real) => judgePlace(real, workspace)?.reason : (real) => judgeOwn(real, place, workspace);
  const closed = judge(folder.real);
  if (closed !== undefined) return broken([closed]);
  const survey = await surveySkill(folder.real, { judge, signal, budget });
  if (survey === undefined) return undefined;
  if ("problem" in survey) return broken([survey.problem]);
  const text = decode(survey.text);
  if (text === undefined) return broken(["its SKILL.md is not UTF-8"]);
  const parsed = await parseSkill(text, name);
  if ("problems" in parsed) return broken(parsed.problems);
  const { body, allowed_tools, ...head } = parsed.skill;
  const { files, left_out, skill_md } = survey;
  const identity: SkillIdentity = { name, source, folder: folder.real, digest: digestOf(files) };
  const entry: SkillEntry = {
    ...head,
    ...identity,
    trusted: source === "user" || (await isTrusted(identity)),
    ...(allowed_tools === undefined ? {} : { allowed_tools }),
    sha256: skill_md.sha256,
    files,
    scripts: files.filter(({ path }) => path.startsWith("scripts/")),
    left_out,
  };
  return { entry, body, judge };
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

function decode(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined; // the only thing that a fatal decoder throws about
  }
}
