import { z } from "zod";
import type { ToolContext } from "../contract/context.ts";
import { SKILL_SOURCES } from "../contract/skills.ts";
import type { SkillEntry, SkillReference } from "../contract/skills.ts";
import { defineTool } from "../contract/tool.ts";
import { makeVisible } from "../output/visible.ts";
import { READ_ONLY } from "./read-only.ts";
import { readOpened, readReturns } from "./read.ts";

const args = () =>
  z
    .strictObject({
      name: z.string().min(1).max(200).describe("Name of the skill"),
      source: z.enum(SKILL_SOURCES).optional().describe("Only needed if two skills have the same name"),
      path: z
        .string()
        .min(1)
        .max(4096)
        .optional()
        .describe("Read this file of the skill instead of its instructions, relative to its folder: references/api.md"),
      offset: z.int().min(1).optional().describe("First line, counted from 1; with path"),
      limit: z.int().min(1).optional().describe("Lines per page; with path"),
      cursor: z.string().optional().describe("The next_page_cursor; with path"),
    })
    .refine(
      ({ path, offset, limit, cursor }) =>
        path !== undefined || (offset === undefined && limit === undefined && cursor === undefined),
      { path: ["path"], message: "offset, limit and cursor need path" },
    );
type Args = z.output<ReturnType<typeof args>>;

const returns = () =>
  z.strictObject({
    skill: z.strictObject({ name: z.string(), source: z.enum(SKILL_SOURCES), digest: z.string() }),
    scripts: z.array(z.string()),
    files: z.array(z.string()).describe("Other files of the skill"),
    folder: z.string().describe("Folder of its files"),
    allowed_tools: z.array(z.string()).nullable(),
    file: readReturns().optional().describe("Set if a file was read"),
  });

/** Published skills stay below this, and every byte is sent to a model. */
const MAX_NAMED = 100;

export const readSkill = defineTool({
  name: "read_skill",
  version: "1.0.0",
  description:
    "Read the instructions of a skill, or with path one of its files (references, assets). Its allowed-tools then restrict the task. Run its scripts with run_script.",
  args,
  returns,
  required_permissions: [],
  ...READ_ONLY,
  concurrency_safe: false, // it limits the calls after it
  search_hint: "skill instructions guide how to reference file asset",

  async execute(given, context) {
    const { path } = given;
    if (path !== undefined) return await readFile({ ...given, path }, context);
    const { skill, body } = await context.skills.read(referenceOf(given));
    const data = describe(skill);
    const { scripts, files, folder, allowed_tools } = data;
    const header = [
      ...(allowed_tools === null ? [] : [`allowed-tools: ${allowed_tools.join(", ") || "none"}`]),
      ...(scripts.length === 0 ? [] : [`scripts: ${scripts.join(", ")}`]),
      ...(files.length === 0 ? [] : [`files in ${folder}: ${files.join(", ")}`]),
    ];
    return { data, stdout: `${[...header.map(makeVisible), body].join("\n")}\n` };
  },
});

function referenceOf({ name, source }: Args): SkillReference {
  return source === undefined ? { name } : { name, source };
}

function describe({ name, source, digest, scripts, files, folder, skill_md, allowed_tools }: SkillEntry) {
  const runnable = new Set(scripts.map(({ path }) => path));
  const others = files.filter(({ path }) => path !== skill_md && !runnable.has(path));
  return {
    skill: { name, source, digest },
    scripts: scripts.slice(0, MAX_NAMED).map(({ path }) => path),
    files: others.slice(0, MAX_NAMED).map(({ path }) => path),
    folder,
    allowed_tools: allowed_tools?.slice() ?? null,
  };
}

/** Pages like `read`; images and binary files are only named. A cursor is bound to the skill and the path. */
async function readFile(given: Args & { readonly path: string }, context: ToolContext) {
  const { skill, path, file } = await context.skills.openFile(referenceOf(given), given.path);
  const { offset, limit, cursor } = given;
  const slice = {
    path: `${skill.name}/${path}`,
    ...(offset === undefined ? {} : { offset }),
    ...(limit === undefined ? {} : { limit }),
    ...(cursor === undefined ? {} : { cursor }),
  };
  const { data, ...page } = await readOpened(file, slice, context);
  return { ...page, data: { ...describe(skill), file: data } };
}
