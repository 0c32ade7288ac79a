import { Command as Commander, CommanderError, Option } from "commander";
import { COMMANDS } from "./all.ts";
import { UsageError } from "./command.ts";
import type { Command } from "./command.ts";

export interface Chosen {
  readonly command: Command;
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
}

/** What was asked of the program itself rather than of a command. */
export interface About {
  readonly about: "help" | "version";
  readonly text: string;
}

/** Finds what the words on the command line ask for. Throws `UsageError`; writes nothing. */
export function choose(words: readonly string[], version: string): Chosen | About {
  const [first, ...rest] = words;
  const asked = first === "help" ? [...rest, "--help"] : words;
  let chosen: Chosen | undefined;
  let out = "";
  let help = "";
  const program = new Commander("autonous")
    .description("The tool runtime you can hand an agent the keys to.")
    .version(version, "-V, --version", "show the version")
    .helpOption("-h, --help", "show what can be done")
    .helpCommand(false)
    .addOption(json())
    .enablePositionalOptions()
    .configureOutput({ writeOut: (text) => (out += text), writeErr: (text) => (help += text), outputError: () => {} })
    .addHelpText("after", START)
    .exitOverride();
  for (const command of commandsFor(asked)) addCommand(program, command, (found) => (chosen = found));
  try {
    program.parse(asked, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return { about: error.code === "commander.version" ? "version" : "help", text: out };
    throw usageError(error, asked, help);
  }
  if (chosen === undefined) throw new Error(`No command was chosen by "${words.join(" ")}"`);
  return chosen;
}

/** Setting up every command takes longer than most of them do: only those that the first word can mean, if it means any. */
function commandsFor(words: readonly string[]): readonly Command[] {
  const first = words.find((word) => word !== "--json");
  const meant = COMMANDS.filter(({ name }) => name.split(" ")[0] === first);
  return meant.length === 0 ? COMMANDS : meant;
}

const START = `
"autonous <command> --help" shows a command's options and an example. To begin:
  autonous doctor
  autonous call ls '{"path":"."}'
  autonous policy explain ls '{"path":"../elsewhere"}'
  autonous audit show`;

function json(): Option {
  return new Option("--json", "one JSON document on stdout and nothing else");
}

function addCommand(program: Commander, command: Command, choose: (chosen: Chosen) => void): void {
  const words = command.name.split(" ");
  const last = words.pop() ?? "";
  const parent = words.reduce(groupOf, program);
  const added = parent.command(last).description(command.summary).allowExcessArguments(false);
  for (const { name, meaning } of command.args ?? []) added.argument(name, meaning);
  for (const { name, meaning } of command.options ?? []) added.addOption(new Option(name, meaning));
  if (command.workspace === true) {
    // Not `<folder...>`: that would take the command's own arguments for folders.
    added.option(
      "--root <folder>",
      "a folder that tools may touch; may be repeated (default: the current one)",
      collect,
    );
    added.option("--state-dir <folder>", "where the record is kept (default: .agent)");
  }
  added.addOption(json());
  added.addHelpText("after", `\nExample:\n  ${command.example}`);
  added.action(() => {
    choose({ command, args: added.args, options: added.optsWithGlobals() });
  });
}

function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

const GROUPS: Readonly<Record<string, string>> = {
  policy: "Decisions: what is allowed, and why",
  tasks: "The queue of the service",
  events: "What happened, as a tree or as it comes",
  audit: "The record: check it, search it, export it",
};

function groupOf(parent: Commander, name: string): Commander {
  const known = parent.commands.find((each) => each.name() === name);
  if (known !== undefined) return known;
  return parent
    .command(name)
    .description(GROUPS[name] ?? "")
    .helpCommand(false);
}

/** The parser's complaint in our own words, with where to look next. `help`: the words stop before a command is named. */
function usageError(error: CommanderError, words: readonly string[], help: string): UsageError {
  const given = words.filter((word) => word !== "--json");
  const named = namedBy(given);
  const asked = ["autonous", ...named].join(" ");
  if (help !== "") {
    return new UsageError(`No command is given after "${asked}": it is one of ${commandsAfter(named)}`, help);
  }
  const [problem = "", nearest = ""] = error.message.replace(/^error: /, "").split("\n");
  const said = problem.replaceAll(/'([^']*)'/g, '"$1"').replace(/\.$/, "");
  const meant = /^\(Did you mean (.*)\?\)$/.exec(nearest)?.[1] ?? elsewhere(error, given[named.length]);
  const next = meant === undefined ? "; see" : `; did you mean ${meant}? See`;
  return new UsageError(`${said.charAt(0).toUpperCase()}${said.slice(1)}${next} "${asked} --help"`);
}

/** The command or group that the first words are. */
function namedBy(words: readonly string[]): readonly string[] {
  const end = words.findIndex((_, i) => !COMMANDS.some(({ name }) => startsWith(name, words.slice(0, i + 1))));
  return end < 0 ? words : words.slice(0, end);
}

function startsWith(name: string, words: readonly string[]): boolean {
  return `${name} `.startsWith(words.map((word) => `${word} `).join(""));
}

function commandsAfter(named: readonly string[]): string {
  const names = COMMANDS.filter(({ name }) => startsWith(name, named)).map(({ name }) => name.split(" ")[named.length]);
  return [...new Set(names)].join(", ");
}

/** A command of a group whose own name is the word: `audit verify` for `verify`. */
function elsewhere({ code }: CommanderError, word = ""): string | undefined {
  return code === "commander.unknownCommand" ? COMMANDS.find(({ name }) => name.endsWith(` ${word}`))?.name : undefined;
}
