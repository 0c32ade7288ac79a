import { arch, release, type } from "node:os";
import { listSkills, readNotes, surveyWorkspace } from "@autonous/runtime/internal";
import type { ProjectContext } from "../agent/instructions.ts";
import { isTrustedSkill } from "./runtime-options.ts";
import type { Workplace } from "./workplace.ts";

/** The workspace description for the model: content, notes for agents, and trusted skills. */
export async function readProject({ roots, cwd, state_dir, configuration }: Workplace): Promise<ProjectContext> {
  const place = { roots, cwd, state_dir, settings: configuration.policy };
  const notes = readNotes(place);
  const { skills } = await listSkills({ roots, cwd, state_dir, isTrustedSkill });
  const offered = skills.filter(({ trusted, disable_model_invocation }) => trusted && !disable_model_invocation);
  return {
    surroundings: {
      date: dateOf(new Date()),
      system: `${type()} ${release().slice(0, MAX_RELEASE)}, ${arch()}`,
      workspace: surveyWorkspace(place),
    },
    ...(notes.notes.length + notes.skipped.length === 0 ? {} : { notes }),
    ...(offered.length === 0 ? {} : { skills: offered.map(({ name, description }) => ({ name, description })) }),
  };
}

const MAX_RELEASE = 40;

/** The local date. */
function dateOf(now: Date): string {
  const [month, day] = [now.getMonth() + 1, now.getDate()].map((number) => String(number).padStart(2, "0"));
  return `${now.getFullYear()}-${month}-${day}`;
}
