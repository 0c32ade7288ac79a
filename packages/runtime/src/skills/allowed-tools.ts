import { quote } from "./quote.ts";

/**
 * Names that skills written for other clients use for tools, in lower case, and what they are called here. What has
 * no counterpart is not in the table and is told in a note.
 */
// oxfmt-ignore
const TOOLS_BY_NAME: Readonly<Record<string, readonly string[]>> = {
  ls:               ["ls"],
  list:             ["ls"],
  list_dir:         ["ls"],
  list_directory:   ["ls"],
  glob:             ["find"],
  glob_file_search: ["find"],
  grep:             ["grep"],
  read:             ["read"],
  read_file:        ["read"],
  view:             ["read"],
  notebookread:     ["read"],
  write:            ["write"],
  write_file:       ["write"],
  edit:             ["edit"],
  multiedit:        ["edit"],
  str_replace:      ["edit"],
  applypatch:       ["apply_patch"],
  bash:             ["bash", "background_output", "background_stop", "background_list", "run_script"],
  shell:            ["bash", "background_output", "background_stop", "background_list", "run_script"],
  run_terminal_cmd: ["bash", "background_output", "background_stop", "background_list", "run_script"],
  run_shell_command: ["bash", "background_output", "background_stop", "background_list", "run_script"],
  bashoutput:       ["background_output", "background_list"],
  killshell:        ["background_stop"],
  killbash:         ["background_stop"],
  webfetch:         ["network_request"],
  web_fetch:        ["network_request"],
  fetch:            ["network_request"],
  toolsearch:       ["tool_search"],
  message_user:     ["display"],
};

/** The tools of a name that lists commands in brackets: a list of commands is not leave to run scripts too. */
const WITH_COMMANDS: readonly string[] = ["bash", "background_output", "background_stop", "background_list"];
const COMMAND_TOOL = "bash";

const EVERYTHING = "*";
const NAME_AND_SCOPE = /^([^()]+?)\s*(?:\(([^()]*)\))?$/;
const WILDCARD = /(?::\*|\s+\*|\*)$/;

interface SkillTools {
  /** Names of our tools, for `skill_tools` of the policy. Undefined: nothing is narrowed. */
  readonly tools: readonly string[] | undefined;
  /** The commands that `bash` is narrowed to, as their first words: `Bash(git add:*)` is ["git", "add"]. Undefined: any. */
  readonly commands: readonly (readonly string[])[] | undefined;
  /** What was not understood, as sentences for people. */
  readonly notes: readonly string[];
}

/** Names with spaces or commas between them; what stands in brackets belongs to its name: `Bash(git add:*), Read`. */
export function splitToolNames(text: string): readonly string[] {
  return text.match(/[^\s,()]+(?:\([^()]*\)?)?|[()]+/g) ?? [];
}

/**
 * What the skill leaves of the tools. One that is not trusted changes nothing. `ours` are the names of the tools that
 * there are; a listed name that is among them means that tool.
 */
export function toolsOfSkill(
  { trusted, allowed_tools }: { readonly trusted: boolean; readonly allowed_tools?: readonly string[] | undefined },
  ours: readonly string[],
): SkillTools {
  if (!trusted || allowed_tools === undefined || allowed_tools.includes(EVERYTHING)) {
    return { tools: undefined, commands: undefined, notes: [] };
  }
  const known = new Set(ours);
  const tools = new Set<string>();
  const commands: (readonly string[])[] = [];
  const notes: string[] = [];
  let anyCommand = false;
  for (const entry of allowed_tools) {
    const { name, scope } = readEntry(entry);
    const meant = name === undefined ? undefined : toolsNamed(name, known);
    if (meant === undefined) {
      notes.push(`allowed-tools: ${quote(entry)} names no tool of this runtime and is left out`);
      continue;
    }
    const words = meant.includes(COMMAND_TOOL) ? wordsOf(scope) : undefined;
    for (const each of words === undefined ? meant : WITH_COMMANDS) tools.add(each);
    if (words !== undefined) commands.push(words);
    else if (meant.includes(COMMAND_TOOL)) anyCommand = true;
    else if (scope !== undefined)
      notes.push(
        `allowed-tools: ${quote(entry)} allows all of ${quote(meant.join(", "))}; what is in brackets is not checked`,
      );
  }
  const narrowed = tools.has(COMMAND_TOOL) && !anyCommand;
  return { tools: [...tools], commands: narrowed ? commands : undefined, notes };
}

function readEntry(entry: string): { readonly name?: string; readonly scope?: string } {
  const [, name, scope] = NAME_AND_SCOPE.exec(entry) ?? [];
  return { ...(name === undefined ? {} : { name }), ...(scope === undefined ? {} : { scope: scope.trim() }) };
}

function toolsNamed(name: string, known: ReadonlySet<string>): readonly string[] | undefined {
  const folded = name.toLowerCase();
  const meant = Object.hasOwn(TOOLS_BY_NAME, folded) ? TOOLS_BY_NAME[folded] : undefined;
  return meant ?? (known.has(name) ? [name] : undefined);
}

/** Undefined: any command, as `Bash(*)` and `Bash()` have it. */
function wordsOf(scope: string | undefined): readonly string[] | undefined {
  const words = (scope ?? "")
    .replace(WILDCARD, "")
    .split(/\s+/)
    .filter((word) => word !== "");
  return words.length === 0 ? undefined : words;
}
