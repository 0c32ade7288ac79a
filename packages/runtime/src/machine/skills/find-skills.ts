import { closeSync } from "node:fs";
import type { BrokenSkill, SkillIndex, SkillReference } from "../../contract/skills.ts";
import { judgePlace } from "../../policy/check-path.ts";
import type { Places } from "../../policy/facts.ts";
import { ToolError } from "../../protocol/errors.ts";
import { isSkillName } from "../../skills/skill.ts";
import { openHandle, realPathOf } from "../files/handle.ts";
import { isSystemError, reasonOf } from "../files/system-error.ts";
import { loadSkill } from "./load.ts";
import type { Loaded, LoadOptions, OpenPlace } from "./load.ts";
import type { SkillPlace } from "./places.ts";
import { readNames } from "./survey.ts";
import type { Budget } from "./survey.ts";

/** What is looked at in all places together. More is told, not read. */
// oxfmt-ignore
const LIMITS = {
  skills:           200,
  entries_a_place:  2_000,
  files:            10_000,
  bytes:            268_435_456,
} as const;

export type FindOptions = Omit<LoadOptions, "budget"> & { readonly places: readonly SkillPlace[] };

function newBudget(): Budget {
  return { files: LIMITS.files, bytes: LIMITS.bytes };
}

/** Every skill in every place. Never throws about what lies there: that is told in the index. */
export async function indexSkills(options: FindOptions): Promise<SkillIndex> {
  const found = { skills: [], broken: [], shadowed: [], problems: [] } as MutableIndex;
  const budget = newBudget();
  const seen = new Set<string>();
  for (const place of options.places) {
    const open = openPlace(place, options.workspace);
    if (open === undefined) continue;
    if ("problem" in open) {
      found.problems.push(open.problem);
      continue;
    }
    for (const name of namesIn(open, found.problems)) {
      options.signal.throwIfAborted();
      if (found.skills.length + found.broken.length + found.shadowed.length >= LIMITS.skills) {
        found.problems.push(
          `There are more than ${LIMITS.skills} skills; the rest from "${name}" in "${place.folder}" on was left out`,
        );
        return found;
      }
      const loaded = await loadSkill(open, name, { ...options, budget });
      if (loaded !== undefined) addTo(found, loaded, seen);
    }
  }
  return found;
}

type MutableIndex = { -readonly [Key in keyof SkillIndex]: SkillIndex[Key][number][] };

/** Two places may lead to the same folder: that is one skill. */
function addTo(found: MutableIndex, loaded: Loaded | { readonly broken: BrokenSkill }, seen: Set<string>): void {
  const { folder } = "broken" in loaded ? loaded.broken : loaded.entry;
  if (seen.has(folder)) return;
  seen.add(folder);
  if ("broken" in loaded) {
    found.broken.push(loaded.broken);
    return;
  }
  const { entry } = loaded;
  const by = found.skills.find(({ name }) => name === entry.name);
  if (by === undefined) found.skills.push(entry);
  else
    found.shadowed.push({
      skill: entry,
      by: { name: by.name, source: by.source, folder: by.folder, digest: by.digest },
    });
}

/** The skill that a name means, as it is now. Throws `NotFound`, and `InvalidArguments` where it is broken. */
export async function findSkill({ name, source }: SkillReference, options: FindOptions): Promise<Loaded> {
  const cannot = `Cannot use the skill ${JSON.stringify(name)}`;
  if (!isSkillName(name)) {
    throw new ToolError("NotFound", `${cannot}: skills are called by up to 64 lower-case letters, digits and hyphens`, {
      name,
    });
  }
  let broken: BrokenSkill | undefined;
  for (const place of options.places) {
    const open = openPlace(place, options.workspace);
    if (open === undefined || "problem" in open) continue;
    const loaded = await loadSkill(open, name, { ...options, budget: newBudget() });
    if (loaded === undefined) continue;
    if ("broken" in loaded) broken ??= isOf(loaded.broken, source) ? loaded.broken : undefined;
    else if (isOf(loaded.entry, source)) return loaded;
  }
  if (broken === undefined) {
    const where = source === undefined ? "" : ` of the source "${source}"`;
    throw new ToolError("NotFound", `${cannot}: there is no skill of that name${where}`, { name, hint: HINT });
  }
  throw new ToolError("InvalidArguments", `${cannot}: ${broken.problems.join("; ")}`, {
    ...broken,
    hint: "Mend the skill.",
  });
}

const HINT = "Use a skill that is there; `autonous skills` lists them.";

function isOf(skill: { readonly source: string }, source: string | undefined): boolean {
  return source === undefined || skill.source === source;
}

/** Undefined where there is no such place, which is the usual case. */
function openPlace(place: SkillPlace, workspace: Places): OpenPlace | { readonly problem: string } | undefined {
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

function namesIn({ real, folder }: OpenPlace, problems: string[]): readonly string[] {
  let fd: number | undefined;
  try {
    fd = openHandle(real);
    const { names, more } = readNames(fd, LIMITS.entries_a_place);
    if (more) problems.push(`"${folder}" has more than ${LIMITS.entries_a_place} entries; the rest was not looked at`);
    return names.filter(({ kind }) => kind === "directory" || kind === "link").map(({ name }) => name);
  } catch (error) {
    if (!isSystemError(error)) throw error;
    problems.push(`Cannot look for skills in "${folder}": ${reasonOf(error)}`);
    return [];
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
