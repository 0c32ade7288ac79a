import { boundList } from "../protocol/bounds.ts";
import type { ShellRedirection, ShellWord, SimpleCommand } from "../shell/parsed-shell.ts";
import type { CallFacts, DecisionSettings, ToolFacts, WorkspaceContext } from "./facts.ts";
import { REACH_TEXT, PROFILES, reachOfTool } from "./profiles.ts";
import type { Reach } from "./profiles.ts";
import { rulesOf } from "./rules/rules.ts";
import type { CompiledRule } from "./rules/rules.ts";

export interface InForce {
  readonly inForce: boolean;
  readonly reason: string;
  /** The rule that offers it although the profile does not: every call needs approval. */
  readonly offered_by?: CompiledRule;
}

export const IN_FORCE: InForce = { inForce: true, reason: "Configuration, skill and run enable it" };

/**
 * Configuration ∩ skill ∩ run time (spec 3, The decision). Each can only narrow: a tool that one of them omits is
 * neither offered nor callable. Only a tool that the profile omits can still be offered, by a rule with `offer`.
 */
export function isInForce(tool: ToolFacts, workspace: WorkspaceContext, settings: DecisionSettings): InForce {
  const { name } = tool;
  const { skill_tools, runtime_tools } = workspace;
  const { tools } = settings.configuration;
  if (tools?.includes(name) === false) return outOfForce(`Cannot use "${name}": ${whoLeavesOut(name, settings)}`);
  if (skill_tools?.includes(name) === false) {
    return outOfForce(`Cannot use "${name}": the active skill${namesOf(workspace)} does not list it in allowed-tools`);
  }
  if (runtime_tools?.includes(name) === false) return outOfForce(`Cannot use "${name}": this run does not include it`);
  // If some calls of a tool are read-only, each call is judged by what it does.
  return isReachInForce(name, tool.only_looks === undefined ? reachOfTool(tool) : "look", settings);
}

/** `narrowBy` merged both tool lists; the message still says which configuration omits the tool. */
function whoLeavesOut(name: string, { projects = [] }: DecisionSettings): string {
  const isProject = projects.some(({ configuration: { tools } }) => tools?.includes(name) === false);
  return `${isProject ? "the project's" : "the"} configuration does not list it`;
}

/**
 * A skill may allow only some commands: everything that would run must be among them, and must be known. A variable
 * before a command can change what it runs (`PATH=. git`), and output to a file is what `write` does.
 */
export function areCommandsInForce({ tool, commands = [] }: CallFacts, workspace: WorkspaceContext): InForce {
  const { skill_commands } = workspace;
  if (skill_commands === undefined) return IN_FORCE;
  const mayWrite = workspace.skill_tools?.includes("write") === true;
  const isLeft = ({ words, assignments, redirections }: SimpleCommand): boolean =>
    assignments.length === 0 &&
    (mayWrite || !redirections.some(writesFile)) &&
    (words.length === 0 || skill_commands.some((listed) => isListed(words, listed)));
  const isIn = commands.every(({ parsed }) => parsed.opaque.length === 0 && parsed.commands.every(isLeft));
  if (isIn) return IN_FORCE;
  const names = boundList(
    skill_commands.map((words) => words.join(" ").trimEnd()),
    MAX_NAMED,
  ).join(", ");
  const left =
    names === "" ? "no commands" : `only the commands ${names}, without variable assignments and output redirection`;
  return outOfForce(`Cannot use "${tool.name}" this way: the active skill${namesOf(workspace)} allows ${left}`);
}

const MAX_NAMED = 8;

/** `2>&1` and `> /dev/null` write no file. */
function writesFile({ operator, target: { value, isDynamic } }: ShellRedirection): boolean {
  if (operator === "<") return false;
  return isDynamic || !(value === "/dev/null" || (operator === ">&" && /^(?:\d+-?|-)$/.test(value)));
}

/** ' "pdf"', or nothing if only the host knows the name. */
function namesOf({ skill_names = [] }: WorkspaceContext): string {
  return skill_names.length === 0 ? "" : ` ${skill_names.map((name) => `"${name}"`).join(" or ")}`;
}

/** Its first words; an empty one at the end means that no other follows. */
function isListed(words: readonly ShellWord[], listed: readonly string[]): boolean {
  return listed.every((word, i) => (word === "" ? words.length === i : isWord(words[i], word)));
}

function isWord(given: ShellWord | undefined, wanted: string): boolean {
  return given !== undefined && !given.isDynamic && given.value === wanted;
}

/** The profile's part. Checked again with what a call touches, which may be more than its tool declared. */
export function isReachInForce(toolName: string, reach: Reach, settings: DecisionSettings): InForce {
  const { profile } = settings;
  if (PROFILES[profile][reach] !== "hide") return IN_FORCE;
  const offered_by = findOffer(toolName, reach, settings);
  if (offered_by !== undefined) return { ...IN_FORCE, offered_by };
  return outOfForce(`Cannot use "${toolName}": the profile "${profile}" offers nothing that can ${REACH_TEXT[reach]}`);
}

/** A user's rule does not offer what a project's profile hides. */
function findOffer(
  toolName: string,
  reach: Reach,
  { configuration, projects = [] }: DecisionSettings,
): CompiledRule | undefined {
  if (projects.some(({ profile }) => profile !== undefined && PROFILES[profile][reach] === "hide")) return undefined;
  return rulesOf(configuration).find(({ offers }) => offers === toolName);
}

function outOfForce(reason: string): InForce {
  return { inForce: false, reason };
}
