import { z } from "zod";
import { SKILL_SOURCES } from "../contract/skills.ts";
import { defineTool } from "../contract/tool.ts";
import { LOOKS } from "./looks.ts";

const args = () =>
  z.strictObject({
    name: z.string().min(1).max(200).describe("Name of the skill"),
    source: z.enum(SKILL_SOURCES).optional().describe("Where two have the same name"),
  });

const returns = () =>
  z.strictObject({
    skill: z.strictObject({ name: z.string(), source: z.enum(SKILL_SOURCES), digest: z.string() }),
    scripts: z.array(z.string()),
    allowed_tools: z.array(z.string()).nullable(),
  });

/** More than this no skill has, and every byte is sent to a model. */
const MOST_SCRIPTS = 100;

export const readSkill = defineTool({
  name: "read_skill",
  version: "1.0.0",
  description:
    "Read the instructions of a skill. From then on its allowed-tools limit the task. Its scripts are run with run_script.",
  args,
  returns,
  required_permissions: [],
  ...LOOKS,
  concurrency_safe: false, // what is called after it is limited by it
  search_hint: "skill instructions guide how to",

  async execute({ name, source }, { skills }) {
    const { skill, body } = await skills.read(source === undefined ? { name } : { name, source });
    const scripts = skill.scripts.slice(0, MOST_SCRIPTS).map(({ path }) => path);
    const { name: found, source: from, digest, allowed_tools } = skill;
    const limits = allowed_tools === undefined ? [] : [`allowed-tools: ${allowed_tools.join(", ") || "none"}`];
    const list = scripts.length === 0 ? [] : [`scripts: ${scripts.join(", ")}`];
    return {
      data: { skill: { name: found, source: from, digest }, scripts, allowed_tools: allowed_tools?.slice() ?? null },
      stdout: `${[...limits, ...list, body].join("\n")}\n`,
    };
  },
});
