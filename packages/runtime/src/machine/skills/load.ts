import type { BrokenSkill, SkillEntry, SkillIdentity } from "../../contract/skills.ts";
import { quote } from "../../skills/quote.ts";
import { parseSkill } from "../../skills/skill.ts";
import { findWay } from "./interpreters.ts";
import type { InterpreterOptions } from "./interpreters.ts";
import { digestOf, UnusableFile } from "./skill-file.ts";
import type { Judge } from "./skill-file.ts";
import type { SkillFolder } from "./skill-folders.ts";
import { readSkillMd, surveySkill } from "./survey.ts";
import type { Budget, RunnableFile, Survey } from "./survey.ts";

/** Whether the user has trusted exactly this content. Called only for skills of the source `project`. */
export type IsTrusted = (skill: SkillIdentity) => boolean | Promise<boolean>;

export interface LoadedSkill {
  readonly entry: SkillEntry;
  readonly body: string;
  /** The access check for its files, repeated when they are used. */
  readonly judge: Judge;
  /** Missing programs, by the paths of the scripts that need them. */
  readonly missing: ReadonlyMap<string, string>;
}

export interface LoadOptions {
  readonly isTrusted: IsTrusted;
  readonly interpreters: InterpreterOptions;
  readonly signal: AbortSignal;
  readonly budget: Budget;
}

/** Loads the skill in a folder. Never throws for an unusable skill. */
export async function loadSkill(
  folder: SkillFolder,
  options: LoadOptions,
): Promise<LoadedSkill | { readonly broken: BrokenSkill }> {
  const { source, real } = folder;
  const survey = await surveySkill(folder, options);
  if ("problem" in survey) return brokenSkill(folder, [survey.problem]);
  const parsed = await parseBytes(survey.text, folder.name);
  if ("problems" in parsed) return brokenSkill(folder, parsed.problems);
  const { body, allowed_tools, warnings, ...head } = parsed.skill;
  const { files, left_out, skill_md, judge } = survey;
  const identity: SkillIdentity = { name: head.name, source, folder: real, digest: digestOf(files) };
  const { scripts, missing } = presentScripts(survey.scripts, options.interpreters);
  const entry: SkillEntry = {
    ...head,
    ...identity,
    trusted: source === "user" || (await options.isTrusted(identity)),
    ...(allowed_tools === undefined ? {} : { allowed_tools }),
    sha256: skill_md.sha256,
    skill_md: skill_md.path,
    files,
    scripts,
    left_out,
    warnings: [...fileWarnings(survey), ...warnings, ...missingWarnings(missing)],
  };
  return { entry, body, judge, missing };
}

/** The names of a skill, from its SKILL.md alone: much cheaper than loading it. */
export async function readNamesOf(
  folder: SkillFolder,
  { signal }: Pick<LoadOptions, "signal">,
): Promise<Pick<SkillEntry, "name" | "aliases"> | { readonly broken: BrokenSkill }> {
  const pieces: Buffer[] = [];
  try {
    await readSkillMd(folder, { signal, onPiece: (piece) => pieces.push(piece) });
  } catch (error) {
    if (!(error instanceof UnusableFile)) throw error;
    return brokenSkill(folder, [error.message]);
  }
  const parsed = await parseBytes(Buffer.concat(pieces), folder.name);
  return "problems" in parsed ? brokenSkill(folder, parsed.problems) : parsed.skill;
}

function brokenSkill(
  { name, source, real }: SkillFolder,
  problems: readonly string[],
): { readonly broken: BrokenSkill } {
  return { broken: { name, source, folder: real, problems } };
}

async function parseBytes(bytes: Buffer, name: string): ReturnType<typeof parseSkill> {
  const text = decode(bytes);
  return text === undefined ? { problems: ["its SKILL.md is not UTF-8"] } : await parseSkill(text, name);
}

const MAX_NAMED = 3;

function fileWarnings({ skill_md: { path }, links }: Survey): readonly string[] {
  const spelling = path === "SKILL.md" ? [] : [`its SKILL.md is called ${quote(path)}`];
  if (links.length === 0) return spelling;
  const more = links.length > MAX_NAMED ? ` and ${links.length - MAX_NAMED} more` : "";
  const names = links.slice(0, MAX_NAMED).map((link) => quote(link));
  return [...spelling, `links in it were followed: ${names.join(", ")}${more}`];
}

/** Lists only scripts whose interpreter is installed. */
function presentScripts(
  scripts: readonly RunnableFile[],
  options: InterpreterOptions,
): Pick<SkillEntry, "scripts"> & Pick<LoadedSkill, "missing"> {
  const missing = new Map<string, string>();
  const present = scripts.filter(({ file, ways }) => {
    if (findWay(ways, options) !== undefined) return true;
    missing.set(file.path, ways[0]?.program ?? "");
    return false;
  });
  return { scripts: present.map(({ file }) => file), missing };
}

function missingWarnings(missing: LoadedSkill["missing"]): readonly string[] {
  return Object.entries(Object.groupBy(missing.values(), (program) => program)).map(
    ([program, { length } = []]) => `${quote(program)} is not installed, so ${length} of its scripts cannot run`,
  );
}

function decode(bytes: Buffer): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined; // a fatal decoder throws only for invalid UTF-8
  }
}
