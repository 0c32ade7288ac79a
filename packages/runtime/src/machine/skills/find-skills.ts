import type { BrokenSkill, SkillEntry, SkillIndex, SkillReference } from "../../contract/skills.ts";
import { isInside } from "../../paths/inside.ts";
import type { Places } from "../../policy/facts.ts";
import { ToolError } from "../../protocol/errors.ts";
import { byPrecedence } from "../../skills/precedence.ts";
import { loadSkill, readNamesOf } from "./load.ts";
import type { LoadedSkill, LoadOptions } from "./load.ts";
import type { SkillPlace } from "./skill-sources.ts";
import { findFolders, openPlace } from "./skill-folders.ts";
import type { ClosedFolder, OpenPlace, SkillFolder } from "./skill-folders.ts";
import type { Budget } from "./survey.ts";

/** Limits for all places together. Anything beyond is reported, not read. */
// oxfmt-ignore
const LIMITS = {
  skills: 200,
  files:  10_000,
  bytes:  268_435_456,
} as const;

export type FindOptions = Omit<LoadOptions, "budget"> & {
  readonly places: readonly SkillPlace[];
  readonly workspace: Places;
};

function newBudget(): Budget {
  return { files: LIMITS.files, bytes: LIMITS.bytes };
}

/** Every skill in every place. Never throws for unusable skills: the index lists them. */
export async function indexSkills(options: FindOptions): Promise<SkillIndex> {
  const budget = newBudget();
  const problems: string[] = [];
  const broken: BrokenSkill[] = [];
  const entries: SkillEntry[] = [];
  for await (const folder of foldersOf(options, problems)) {
    if (entries.length + broken.length >= LIMITS.skills) {
      problems.push(`There are more than ${LIMITS.skills} skills; "${folder.real}" and those after it were skipped`);
      break;
    }
    const loaded = "why" in folder ? closedSkill(folder) : await loadSkill(folder, { ...options, budget });
    if ("broken" in loaded) broken.push(loaded.broken);
    else entries.push(loaded.entry);
  }
  return { ...withNames(entries), broken, problems };
}

function foldersOf(options: FindOptions, problems: string[]): AsyncIterable<SkillFolder | ClosedFolder> {
  const { places, workspace, signal } = options;
  const open: OpenPlace[] = [];
  for (const place of places) {
    const opened = openPlace(place, workspace);
    if (opened === undefined) continue;
    if ("problem" in opened) problems.push(opened.problem);
    else open.push(opened);
  }
  return findFolders(open, { workspace, signal, problems });
}

function closedSkill({ name, source, real, why }: ClosedFolder): { readonly broken: BrokenSkill } {
  return { broken: { name, source, folder: real, problems: [why] } };
}

/** Assigns each name to one skill, so that a lookup finds the skill that the index shows. */
function withNames(entries: readonly SkillEntry[]): Pick<SkillIndex, "skills" | "shadowed"> {
  const skills: SkillEntry[] = [];
  const shadowed: SkillIndex["shadowed"][number][] = [];
  for (const entry of entries) {
    const [by = entry] = byPrecedence(entry.name, entries);
    const aliases = entry.aliases.filter((alias) => byPrecedence(alias, entries)[0] === entry);
    const named = { ...entry, aliases };
    if (by === entry) skills.push(named);
    else {
      const { name, source, folder, digest } = by;
      shadowed.push({ skill: named, by: { name, source, folder, digest } });
    }
  }
  return { skills, shadowed };
}

interface NamedSkill extends Pick<SkillEntry, "name" | "aliases" | "source"> {
  readonly of: SkillFolder;
}

/** Loads a skill by name, in its current state. Throws `NotFound`, and `InvalidArguments` if it is broken. */
export async function findSkill({ name, source }: SkillReference, options: FindOptions): Promise<LoadedSkill> {
  const cannot = `Cannot use the skill ${JSON.stringify(name)}`;
  const named: NamedSkill[] = [];
  const broken: BrokenSkill[] = [];
  let left: number = LIMITS.skills;
  for await (const folder of foldersOf(options, [])) {
    if (left-- === 0) break;
    if (source !== undefined && folder.source !== source) continue;
    const read = "why" in folder ? closedSkill(folder) : await readNamesOf(folder, options);
    if ("broken" in read) broken.push(read.broken);
    else named.push({ ...read, source: folder.source, of: folder as SkillFolder });
  }
  for (const { of } of byPrecedence(name, named)) {
    const loaded = await loadSkill(of, { ...options, budget: newBudget() });
    if (!("broken" in loaded)) return loaded;
    broken.unshift({ ...loaded.broken, name });
  }
  const unusable = broken.find((each) => each.name === name);
  if (unusable === undefined) {
    const where = source === undefined ? "" : ` of the source "${source}"`;
    throw new ToolError("NotFound", `${cannot}: skill not found${where}`, { name, hint: HINT });
  }
  throw new ToolError("InvalidArguments", `${cannot}: ${unusable.problems.join("; ")}`, {
    ...unusable,
    hint: "Fix its SKILL.md.",
  });
}

/** The real folder of the user's own skill that contains a real path. A broken skill does not count. */
export async function findOwnAround(real: string, options: FindOptions): Promise<string | undefined> {
  const places = options.places.filter(({ source }) => source === "user");
  for await (const folder of foldersOf({ ...options, places }, [])) {
    if ("why" in folder || folder.source !== "user" || !isInside(folder.real, real)) continue;
    if (isInside(folder.real, options.workspace.home)) continue; // too large to be a skill
    if (!("broken" in (await readNamesOf(folder, options)))) return folder.real;
  }
  return undefined;
}

const HINT = "Use a skill from the list: autonous skills.";
