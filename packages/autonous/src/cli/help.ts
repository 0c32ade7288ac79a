import { COMMANDS } from "./all.ts";
import type { Command, Parameter } from "./command.ts";
import { table } from "./output/table.ts";

const WIDTH = 80;

const JSON_OPTION: Parameter = { name: "--json", meaning: "one JSON document on stdout and nothing else" };
const HELP_OPTION: Parameter = { name: "-h, --help", meaning: "show help" };
const VERSION_OPTION: Parameter = { name: "-V, --version", meaning: "show the version" };

const WORKSPACE_OPTIONS: readonly Parameter[] = [
  {
    name: "--root <folder>",
    meaning: "a folder that tools may touch; may be repeated (default: the current one)",
    repeatable: true,
  },
  { name: "--state-dir <folder>", meaning: "state folder (default: in the user's state directory)" },
  {
    name: "--profile <name>",
    meaning: "readonly, guarded or autonomous (default: as configured)",
    choices: ["readonly", "guarded", "autonomous"],
  },
];

/** Options of commands that may ask for approval. */
const ATTENDED_OPTIONS: readonly Parameter[] = [
  { name: "--non-interactive", meaning: "never ask: calls that need approval fail with exit code 4" },
];

/** The summary of each group of commands. */
export const GROUPS: Readonly<Record<string, string>> = {
  "": "The tool runtime you can hand an agent the keys to.",
  policy: "Decisions: what is allowed, and why",
  approvals: "Pending approvals and active grants",
  tasks: "Tasks in the queue of the service",
  telegram: "Who has access to the Telegram bot",
  memory: "Memory entries that runs stored for later runs",
  state: "The state folder of this workspace",
  events: "Events of tasks and runs",
  audit: "Audit log: verify, search, export",
};

const START = `
"autonous <command> --help" shows a command's options and an example. To begin:
  autonous doctor
  autonous call ls '{"path":"."}'
  autonous policy explain ls '{"path":"../elsewhere"}'
  autonous audit show
`;

/** The options of a command; common ones come last. */
export function optionsOf(command: Command): readonly Parameter[] {
  return [
    ...(command.options ?? []),
    ...(command.attended === true ? ATTENDED_OPTIONS : []),
    ...(command.workspace === true ? WORKSPACE_OPTIONS : []),
    JSON_OPTION,
  ];
}

/** The help of a command, a group, or (without words) the program. */
export function helpFor(named: readonly string[]): string {
  const command = COMMANDS.find(({ name }) => name === named.join(" "));
  return command === undefined ? helpForGroup(named) : helpForCommand(command);
}

function helpForCommand(command: Command): string {
  const { name, summary, args = [], example, notes = [] } = command;
  return [
    `Usage: ${["autonous", name, "[options]", ...args.map((each) => each.name)].join(" ")}\n\n${summary}\n`,
    section("Arguments", args),
    section("Options", [...optionsOf(command), HELP_OPTION]),
    `\nExample:\n  ${example}\n`,
    notes.length === 0 ? "" : `\n${notes.join("\n")}\n`,
  ].join("");
}

function helpForGroup(named: readonly string[]): string {
  const top = named.length === 0;
  const options = top ? [VERSION_OPTION, JSON_OPTION, HELP_OPTION] : [HELP_OPTION];
  return [
    `Usage: ${["autonous", ...named].join(" ")} [options] [command]\n\n${GROUPS[named.join(" ")] ?? ""}\n`,
    section("Options", options),
    section("Commands", entriesOf(named)),
    top ? START : "",
  ].join("");
}

/** The commands of a group; the top level lists groups instead of their commands. */
function entriesOf(named: readonly string[]): Parameter[] {
  const entries = new Map<string, Parameter>();
  for (const { name, summary, args = [] } of COMMANDS) {
    const words = name.split(" ");
    if (words.slice(0, named.length).join(" ") !== named.join(" ")) continue;
    const word = words[named.length] ?? "";
    const isGroup = words.length > named.length + 1;
    const meaning = isGroup ? (GROUPS[word] ?? "") : summary;
    entries.set(word, { name: [word, ...(isGroup ? [] : args.map((each) => each.name))].join(" "), meaning });
  }
  return [...entries.values()];
}

function section(title: string, rows: readonly Parameter[]): string {
  if (rows.length === 0) return "";
  const lines = table(
    rows.map(({ name, short, meaning }) => [`  ${short === undefined ? name : `${short}, ${name}`}`, meaning]),
    { width: WIDTH },
  );
  return `\n${title}:\n${lines}\n`;
}
