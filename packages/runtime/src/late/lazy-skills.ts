import { join } from "node:path";
import type { SkillScript, RunProgram, SkillEntry, SkillIndex, ToolSkills } from "../contract/skills.ts";
import type { ScriptTouch, Tool } from "../contract/tool.ts";
import type { ActiveSkill } from "../gate/steps/active-skills.ts";
import type { IsTrusted } from "../machine/skills/load.ts";
import type { Skills } from "../machine/skills/create-skills.ts";
import type { WorkspaceContext } from "../policy/decide.ts";
import { ToolError } from "../protocol/errors.ts";
import { byPrecedence } from "../skills/precedence.ts";
import { TRUST_HINT } from "../contract/skills.ts";
import { lazy, lazyMethods } from "./lazy.ts";

interface SkillsOptions {
  readonly workspace: WorkspaceContext;
  readonly cwd: string;
  /** Called for each skill of the workspace. Undefined: none of them is trusted. */
  readonly isTrustedSkill: IsTrusted | undefined;
}

interface SkillCall {
  readonly run_folder: string;
  readonly signal: AbortSignal;
  readonly run: RunProgram;
}

/** Skills, indexed on first use. The user's own are trusted; those of a workspace only if the host says so. */
export class LazySkills {
  readonly #load: () => Promise<Skills>;

  constructor({ workspace, cwd, isTrustedSkill }: SkillsOptions) {
    this.#load = lazy(async () => {
      const { createSkills } = await import("../machine/skills/create-skills.ts");
      return createSkills({ workspace, cwd, isTrusted: isTrustedSkill });
    });
  }

  async index(): Promise<SkillIndex> {
    return await (await this.#load()).index();
  }

  /** The tools that the named skill allows. Throws if it does not exist or is not trusted. */
  async activate(
    name: string,
    tools: readonly string[],
  ): Promise<Pick<WorkspaceContext, "skill_tools" | "skill_commands">> {
    const skill = await this.find(name);
    const { toolsOfSkill } = await import("../skills/allowed-tools.ts");
    const narrowed = toolsOfSkill(skill, tools);
    return {
      ...(narrowed.tools === undefined ? {} : { skill_tools: narrowed.tools }),
      ...(narrowed.commands === undefined ? {} : { skill_commands: narrowed.commands }),
    };
  }

  /** The named skill. Throws if it does not exist or is not trusted. */
  async find(name: string): Promise<SkillEntry> {
    const { skills } = await this.index();
    const [skill] = byPrecedence(name, skills);
    if (skill?.trusted === true) return skill;
    throw unusable(name, skill);
  }

  /** The trusted skill whose SKILL.md is at this real path. */
  async at(real: string): Promise<SkillEntry | undefined> {
    const { skills, shadowed } = await this.index();
    const all = [...skills, ...shadowed.map(({ skill }) => skill)];
    return all.find(({ folder, skill_md, trusted }) => trusted && join(folder, skill_md) === real);
  }

  /** The real folder of the user's own skill that contains a real path. */
  async ownAround(real: string): Promise<string | undefined> {
    return await (await this.#load()).ownAround(real);
  }

  /**
   * The tools that a skill allows: those it lists, and those that need no permission and change nothing, such as
   * `display`.
   */
  async limitsOf(skill: SkillEntry, tools: readonly Tool[]): Promise<Omit<ActiveSkill, "reason">> {
    const { toolsOfSkill } = await import("../skills/allowed-tools.ts");
    const {
      tools: left,
      commands,
      notes,
    } = toolsOfSkill(
      skill,
      tools.map(({ name }) => name),
    );
    const kept = tools.filter(isHarmless).map(({ name }) => name);
    const { name, source, digest } = skill;
    return {
      skill: name,
      source,
      digest,
      ...(left === undefined ? {} : { tools: [...new Set([...left, ...kept])] }),
      ...(commands === undefined ? {} : { commands }),
      ...(notes.length === 0 ? {} : { notes }),
    };
  }

  async findScript(
    { skill, script }: ScriptTouch,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<SkillScript> {
    const run = (): never => {
      throw new Error("findScript must not run anything");
    };
    return await (await this.#load()).forCall({ run_folder: "", signal, run }).findScript(skill, script);
  }

  forCall(call: SkillCall): ToolSkills {
    const load = async (): Promise<ToolSkills> => (await this.#load()).forCall(call);
    return lazyMethods(load, ["index", "read", "openFile", "findScript", "openScript"]);
  }
}

function isHarmless({ required_permissions, permission_class, read_only }: Tool): boolean {
  return required_permissions.length === 0 && permission_class === "readonly" && read_only;
}

function unusable(name: string, skill: SkillEntry | undefined): ToolError {
  const cannot = `Cannot start with the skill "${name}"`;
  if (skill === undefined) {
    const hint = "List the available skills with: autonous skills";
    return new ToolError("NotFound", `${cannot}: no skill has this name`, { skill: name, hint });
  }
  const why = "it came with the workspace, and no person has trusted it as it is now";
  return new ToolError("ToolNotAllowed", `${cannot}: ${why}`, { skill: name, hint: TRUST_HINT });
}
