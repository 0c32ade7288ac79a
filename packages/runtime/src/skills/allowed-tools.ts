import { quote } from "./quote.ts";

const COMMAND_TOOLS = ["bash", "background_output", "background_stop", "background_list"] as const;
const COMMANDS_AND_SCRIPTS = [...COMMAND_TOOLS, "run_script"] as const;

/**
 * Names that skills written for other clients use for tools, with the names used here. Names are compared in lower case
 * and without hyphens and underscores. Names without a counterpart are not in the table and produce a note.
 */
// oxfmt-ignore
const TOOLS_BY_NAME: Readonly<Record<string, readonly string[]>> = {
  ls:               ["ls"],
  list:             ["ls"],
  listdir:          ["ls"],
  listdirectory:    ["ls"],
  glob:             ["find"],
  globfilesearch:   ["find"],
  grep:             ["grep"],
  read:             ["read"],
  readfile:         ["read"],
  view:             ["read"],
  notebookread:     ["read"],
  write:            ["write"],
  writefile:        ["write"],
  edit:             ["edit"],
  multiedit:        ["edit"],
  strreplace:       ["edit"],
  applypatch:       ["apply_patch"],
  bash:             COMMANDS_AND_SCRIPTS,
  shell:            COMMANDS_AND_SCRIPTS,
  runterminalcmd:   COMMANDS_AND_SCRIPTS,
  runshellcommand:  COMMANDS_AND_SCRIPTS,
  bashoutput:       ["background_output", "background_list"],
  killshell:        ["background_stop"],
  killbash:         ["background_stop"],
  webfetch:         ["network_request"],
  fetch:            ["network_request"],
  skill:            ["read_skill"],
  todowrite:        ["todo"],
  todoread:         ["todo"],
  toolsearch:       ["tool_search"],
  messageuser:      ["display"],
};

/** Ends a command that is allowed only literally: `Bash(npm test)` is ["npm", "test", ""]. No listed word is empty. */
export const END_OF_COMMAND = "";

const COMMAND_TOOL = "bash";
const EVERYTHING = "*";
const NAME_AND_SCOPE = /^([^()]+?)\s*(?:\(([^()]*)\))?$/;
const WILDCARD = /(?::\*|\s+\*|\*)$/;
/** Words that a shell splits, or that expand to several, are not compared with a command. */
const NOT_PLAIN = /[*?[\]{}$`"'\\|&;<>()~#!]/;
const MCP = "mcp__";

interface SkillTools {
  /** Names of our tools, for `skill_tools` of the policy. Undefined: no restriction. */
  readonly tools: readonly string[] | undefined;
  /**
   * The commands that `bash` is restricted to, as their first words: `Bash(git add:*)` is ["git", "add"]. With
   * `END_OF_COMMAND` no word follows. Undefined: any.
   */
  readonly commands: readonly (readonly string[])[] | undefined;
  /** Entries that were not understood, as sentences for the user. */
  readonly notes: readonly string[];
}

/**
 * The tools that the skill leaves: never more than it lists. An entry that cannot be expressed here allows nothing and
 * produces a note. An untrusted skill changes nothing. `ours` are the names of the existing tools; a listed name among
 * them means that tool.
 */
export function toolsOfSkill(
  { trusted, allowed_tools }: { readonly trusted: boolean; readonly allowed_tools?: readonly string[] | undefined },
  ours: readonly string[],
): SkillTools {
  if (!trusted || allowed_tools === undefined || allowed_tools.includes(EVERYTHING)) {
    return { tools: undefined, commands: undefined, notes: [] };
  }
  const read = allowed_tools.map((entry) => readEntry(entry, ours));
  const tools = [...new Set(read.flatMap((each) => each.tools ?? []))];
  const commands = read.flatMap((each) => each.commands ?? []);
  const isNarrowed = commands.length > 0 && !read.some((each) => each.any_command === true);
  return {
    tools,
    commands: isNarrowed ? commands : undefined,
    notes: read.flatMap((each) => each.notes ?? []).map((note) => `allowed-tools: ${note}`),
  };
}

interface ReadEntry {
  readonly tools?: readonly string[];
  readonly commands?: readonly (readonly string[])[];
  readonly any_command?: boolean;
  readonly notes?: readonly string[];
}

function readEntry(entry: string, ours: readonly string[]): ReadEntry {
  const [, name, scope] = NAME_AND_SCOPE.exec(entry) ?? [];
  const tools = name === undefined ? undefined : toolsNamed(name, ours);
  if (tools === undefined) return { notes: [`${quote(entry)} is not a tool of this runtime and is skipped`] };
  const runsCommands = tools.includes(COMMAND_TOOL);
  if (scope === undefined || /^(?:\*\*?|:\*)$/.test(scope.trim())) return { tools, any_command: runsCommands };
  if (!runsCommands) {
    return {
      notes: [`${quote(entry)} is skipped: the text in brackets after ${quote(name ?? "")} cannot be checked`],
    };
  }
  return commandsOf(entry, scope);
}

/** Allowed commands do not include scripts. */
function commandsOf(entry: string, scope: string): ReadEntry {
  const read = scope.split(",").map((each) => ({ text: each.trim(), words: wordsOf(each.trim()) }));
  const commands = read.flatMap(({ words }) => (words === undefined ? [] : [words]));
  const unread = read.filter(({ words }) => words === undefined);
  const notes = unread.map(
    ({ text }) => `${quote(text)} in ${quote(entry)} cannot be checked as a command and is skipped`,
  );
  return commands.length === 0 ? { notes } : { tools: COMMAND_TOOLS, commands, notes };
}

/** Undefined: not plain words. Without a `*` at its end, exactly that command. */
function wordsOf(command: string): readonly string[] | undefined {
  const text = /^(["'])(.*)\1$/.exec(command)?.[2]?.trim() ?? command;
  const words = text
    .replace(WILDCARD, "")
    .split(/\s+/)
    .filter((word) => word !== "");
  const [first] = words;
  if (first === undefined || first.includes(":") || words.some((word) => NOT_PLAIN.test(word))) return undefined;
  return WILDCARD.test(text) ? words : [...words, END_OF_COMMAND];
}

function toolsNamed(name: string, ours: readonly string[]): readonly string[] | undefined {
  if (ours.includes(name)) return [name];
  if (name.startsWith(MCP)) return toolsOfServer(name, ours);
  const folded = fold(name);
  if (Object.hasOwn(TOOLS_BY_NAME, folded)) return TOOLS_BY_NAME[folded];
  const own = ours.find((each) => fold(each) === folded);
  return own === undefined ? undefined : [own];
}

/** `mcp__files` and `mcp__files__*`: every tool of that server. */
function toolsOfServer(name: string, ours: readonly string[]): readonly string[] | undefined {
  const server = name.replace(/__\*$/, "");
  if (server.length === MCP.length) return undefined;
  const prefix = `${server}__`;
  // In `mcp__a__b__c` the server may be `a` or `a__b`: it is allowed only if it is listed itself.
  const tools = ours.filter((each) => each.startsWith(prefix) && !each.slice(prefix.length).includes("__"));
  return tools.length === 0 ? undefined : tools;
}

function fold(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, "");
}
