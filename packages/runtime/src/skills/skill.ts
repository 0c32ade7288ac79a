import { readFrontMatter } from "./front-matter.ts";
import { splitToolNames } from "./allowed-tools.ts";
import { quote } from "./quote.ts";

/** A SKILL.md, as the Agent Skills convention has it. */
interface Skill {
  readonly name: string;
  readonly description: string;
  /** As they are written. Undefined: the skill leaves all tools as they are. Empty: it allows none. */
  readonly allowed_tools: readonly string[] | undefined;
  /** Only a person calls for it; it is not offered to the model. */
  readonly disable_model_invocation: boolean;
  /** Everything else of the front matter. */
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly body: string;
}

type ParsedSkill = { readonly skill: Skill } | { readonly problems: readonly [string, ...string[]] };

const MAX_NAME = 64;
const MAX_DESCRIPTION = 1024;
const MAX_TOOLS = 200;
const NAME = /^[a-z0-9]+(?:-[a-z0-9]+)*$/;

/** Whether a skill may be called that. */
export function isSkillName(name: string): boolean {
  return name.length <= MAX_NAME && NAME.test(name);
}

/** Reads a SKILL.md that lies in a folder of this name. Never throws: every problem is told, as a clause. */
export async function parseSkill(text: string, folder: string): Promise<ParsedSkill> {
  const read = await readFrontMatter(text);
  if ("problem" in read) return { problems: [read.problem] };
  // oxfmt-ignore
  const {
    name = folder, description, "allowed-tools": allowedTools, "disable-model-invocation": disabled = false, ...metadata
  } = read.values;
  const tools = readTools(allowedTools);
  const [first, ...others] = [
    ...nameProblems(name, folder),
    ...descriptionProblems(description),
    ...(typeof disabled === "boolean" ? [] : ['"disable-model-invocation" has to be true or false']),
    ...("problem" in tools ? [tools.problem] : []),
  ];
  if (first !== undefined) return { problems: [first, ...others] };
  return {
    skill: {
      name: folder,
      description: description as string,
      allowed_tools: "names" in tools ? tools.names : undefined,
      disable_model_invocation: disabled === true,
      metadata,
      body: read.body,
    },
  };
}

function nameProblems(name: unknown, folder: string): string[] {
  if (typeof name !== "string") return [`"name" has to be text, not ${kindOf(name)}`];
  const problems: string[] = [];
  if (name.length > MAX_NAME)
    problems.push(`its name has ${name.length} characters, and at most ${MAX_NAME} are allowed`);
  if (!NAME.test(name)) {
    problems.push(`the name ${quote(name)} has to be lower-case letters and digits, with single hyphens between them`);
  }
  if (name !== folder) problems.push(`the name ${quote(name)} is not the name of its folder, ${quote(folder)}`);
  return problems;
}

function descriptionProblems(description: unknown): string[] {
  if (description === undefined) return ['"description" is missing'];
  if (typeof description !== "string") return [`"description" has to be text, not ${kindOf(description)}`];
  if (description.trim() === "") return ['"description" is empty'];
  if (description.length <= MAX_DESCRIPTION) return [];
  return [`its description has ${description.length} characters, and at most ${MAX_DESCRIPTION} are allowed`];
}

/** Left empty, as in `allowed-tools:`, it allows none: whoever wrote the name meant to restrict. */
function readTools(given: unknown): { readonly names: readonly string[] } | { readonly problem: string } | object {
  if (given === undefined) return {};
  const listed = given === null ? [] : typeof given === "string" ? splitToolNames(given) : given;
  if (!Array.isArray(listed) || !listed.every((each) => typeof each === "string")) {
    return { problem: '"allowed-tools" has to be a list of names, or names with spaces or commas between them' };
  }
  const names = listed.map((each) => each.trim()).filter((each) => each !== "");
  if (names.length > MAX_TOOLS) return { problem: `"allowed-tools" lists more than ${MAX_TOOLS} names` };
  return { names };
}

function kindOf(value: unknown): string {
  if (value === null) return "nothing";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "names with values" : `a ${typeof value}`;
}
