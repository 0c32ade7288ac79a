import { join } from "node:path";
import { createSkills } from "../../packages/runtime/src/machine/skills/create-skills.ts";
import type { Skills, SkillsOptions } from "../../packages/runtime/src/machine/skills/create-skills.ts";
import type { RunProgram, ToolSkills } from "../../packages/runtime/src/contract/skills.ts";
import { scratchFolder } from "./scratch.ts";
import type { Folder } from "./scratch.ts";

export const skillText = (name: string, more = ""): string =>
  `---\nname: ${name}\ndescription: About ${name}\n${more}---\nBody of ${name}\n`;

export interface House extends Folder {
  readonly skills: Skills;
  handle(run?: RunProgram): ToolSkills;
}

const runsNothing: RunProgram = () => Promise.reject(new Error("nothing is run in this test"));

/** `below`: the working folder in the root. A home and a workspace side by side: `home/`, `root/`, and `state/runs/run_1/`. */
export async function house(
  files: Readonly<Record<string, string>>,
  { below = "", ...options }: Partial<SkillsOptions> & { readonly below?: string } = {},
): Promise<House> {
  const folder = await scratchFolder();
  await folder.make({ "home/": "", "root/": "", "state/runs/run_1/": "", ...files });
  const { path } = folder;
  const workspace = { roots: [join(path, "root")], home: join(path, "home"), state_dirs: [join(path, "state")] };
  const environment = { PATH: process.env["PATH"], XDG_CONFIG_HOME: join(path, "home/.config") };
  const skills = createSkills({ workspace, cwd: join(path, "root", below), environment, ...options });
  const run_folder = join(path, "state/runs/run_1");
  const { signal } = new AbortController();
  return { ...folder, skills, handle: (run = runsNothing) => skills.forCall({ run_folder, signal, run }) };
}
