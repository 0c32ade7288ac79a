import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { arch, release, type } from "node:os";
import { join, relative } from "node:path";
import { isInside, listSkills, surveyWorkspace } from "@autonous/runtime";
import type { SkillEntry } from "@autonous/runtime";
import type { ProjectContext } from "../agent/instructions.ts";
import { isTrustedSkill } from "./open-runtime.ts";
import type { Workplace } from "./open-runtime.ts";

/** The first that is there is read: `CLAUDE.md` is for workspaces that were written for another agent alone. */
const NAMES = ["AGENTS.md", "CLAUDE.md"] as const;
/** More than this is sent with every request and read by no model with care. */
const MOST_BYTES = 8_192;

/** What the workspace tells a model about itself: what is in it, its `AGENTS.md`, and the skills that a person trusts. */
export async function readProject({ roots, cwd, state_dir, configuration }: Workplace): Promise<ProjectContext> {
  const root = roots.find((each) => isInside(each, cwd)) ?? cwd;
  const { skills } = await listSkills({ roots, cwd, state_dir, isTrustedSkill });
  const offered = skills.filter(({ trusted, disable_model_invocation }) => trusted && !disable_model_invocation);
  return {
    surroundings: {
      date: dateOf(new Date()),
      system: `${type()} ${release().slice(0, MOST_RELEASE)}, ${arch()}`,
      workspace: surveyWorkspace({ roots, cwd, state_dir, settings: configuration.policy }),
    },
    ...readFirst(root),
    ...(offered.length === 0 ? {} : { skills: offered.map((skill) => toRow(skill, { roots, cwd })) }),
  };
}

const MOST_RELEASE = 40;

/** The day where the machine is. */
function dateOf(now: Date): string {
  const [month, day] = [now.getMonth() + 1, now.getDate()].map((number) => String(number).padStart(2, "0"));
  return `${now.getFullYear()}-${month}-${day}`;
}

function readFirst(root: string): Pick<ProjectContext, "instructions" | "instructions_file"> {
  for (const name of NAMES) {
    const instructions = readInstructions(join(root, name), name);
    if (instructions !== undefined) return { instructions, ...(name === NAMES[0] ? {} : { instructions_file: name }) };
  }
  return {};
}

/** A link is not followed: it could lead to what no tool may read. */
function readInstructions(path: string, name: string): string | undefined {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  let file: number;
  try {
    file = openSync(path, flags);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ELOOP" || code === "EACCES" || code === "ENXIO") return undefined;
    throw error;
  }
  try {
    if (!fstatSync(file).isFile()) return undefined;
    const bytes = Buffer.alloc(MOST_BYTES);
    const read = readSync(file, bytes, 0, MOST_BYTES, 0);
    const text = new TextDecoder().decode(bytes.subarray(0, read), { stream: true }); // a cut character is left out
    return fstatSync(file).size > read ? `${text}\n[${name} goes on; read it for the rest]` : text;
  } finally {
    closeSync(file);
  }
}

function toRow(skill: SkillEntry, { roots, cwd }: Pick<Workplace, "roots" | "cwd">) {
  const { name, description, folder, scripts } = skill;
  const file = join(folder, "SKILL.md");
  const isReadable = roots.some((root) => isInside(root, file));
  const path = isReadable ? relative(cwd, file) : `run_script: ${scripts.map((each) => each.path).join(", ")}`;
  return { name, description, path };
}
