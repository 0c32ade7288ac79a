import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { join, relative } from "node:path";
import { isInside, listSkills } from "@autonous/runtime";
import type { SkillEntry } from "@autonous/runtime";
import type { ProjectContext } from "../agent/instructions.ts";
import { isTrustedSkill } from "./open-runtime.ts";
import type { Workplace } from "./open-runtime.ts";

const NAME = "AGENTS.md";
/** More than this is sent with every request and read by no model with care. */
const MOST_BYTES = 8_192;

/** What the workspace tells a model about itself: its `AGENTS.md`, and the skills that a person trusts. */
export async function readProject({ roots, cwd, state_dir }: Workplace): Promise<ProjectContext> {
  const root = roots.find((each) => isInside(each, cwd)) ?? cwd;
  const instructions = readInstructions(join(root, NAME));
  const { skills } = await listSkills({ roots, cwd, state_dir, isTrustedSkill });
  const offered = skills.filter(({ trusted, disable_model_invocation }) => trusted && !disable_model_invocation);
  return {
    ...(instructions === undefined ? {} : { instructions }),
    ...(offered.length === 0 ? {} : { skills: offered.map((skill) => toRow(skill, { roots, cwd })) }),
  };
}

/** A link is not followed: it could lead to what no tool may read. */
function readInstructions(path: string): string | undefined {
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
    return fstatSync(file).size > read ? `${text}\n[${NAME} goes on; read it for the rest]` : text;
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
