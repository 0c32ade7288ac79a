import type { RunProgram, SkillIndex, ToolSkills } from "./contract/skills.ts";
import type { Skills } from "./machine/skills/skills.ts";
import type { WorkspaceContext } from "./policy/decide.ts";
import { ToolError } from "./protocol/errors.ts";

interface SkillsOptions {
  readonly workspace: WorkspaceContext;
  readonly cwd: string;
}

interface SkillCall {
  readonly run_folder: string;
  readonly signal: AbortSignal;
  readonly run: RunProgram;
}

/** Skills, looked for when somebody asks for one. A person's own are trusted; those of a workspace are not. */
export class LazySkills {
  readonly #options: SkillsOptions;
  #skills: Promise<Skills> | undefined;

  constructor(options: SkillsOptions) {
    this.#options = options;
  }

  async index(): Promise<SkillIndex> {
    return await (await this.#load()).index();
  }

  /** What the skill of that name leaves of the tools. Throws where there is none, or it is not trusted. */
  async activate(
    name: string,
    tools: readonly string[],
  ): Promise<Pick<WorkspaceContext, "skill_tools" | "skill_commands">> {
    const { skills } = await this.index();
    const skill = skills.find((each) => each.name === name);
    if (skill?.trusted !== true) {
      const why =
        skill === undefined ? "there is no such skill" : "it came with the workspace, and nobody has trusted it";
      throw new ToolError("NotFound", `Cannot start with the skill "${name}": ${why}`, { skill: name });
    }
    const { toolsOfSkill } = await import("./skills/allowed-tools.ts");
    const narrowed = toolsOfSkill(skill, tools);
    return {
      ...(narrowed.tools === undefined ? {} : { skill_tools: narrowed.tools }),
      ...(narrowed.commands === undefined ? {} : { skill_commands: narrowed.commands }),
    };
  }

  forCall(call: SkillCall): ToolSkills {
    const load = async (): Promise<ToolSkills> => (await this.#load()).forCall(call);
    return {
      index: async () => await (await load()).index(),
      read: async (reference) => await (await load()).read(reference),
      openScript: async (reference, path) => await (await load()).openScript(reference, path),
    };
  }

  #load(): Promise<Skills> {
    return (this.#skills ??= this.#make());
  }

  async #make(): Promise<Skills> {
    const { createSkills } = await import("./machine/skills/skills.ts");
    const { workspace, cwd } = this.#options;
    return createSkills({ workspace, cwd, isTrusted: ({ source }) => source === "user" });
  }
}
