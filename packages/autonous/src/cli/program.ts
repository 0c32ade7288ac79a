import { Command as Commander, CommanderError, Option } from "commander";
import { COMMANDS } from "./all.ts";
import type { Command } from "./command.ts";

export interface Chosen {
  readonly command: Command;
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
}

/** Help was shown, or the words make no command; `exitCode` says which. What there is to say has been said. */
export class NothingChosen extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super("no command");
    this.exitCode = exitCode;
  }
}

/** Finds the command that the words on the command line name. Throws `NothingChosen`. */
export function choose(words: readonly string[], version: string): Chosen {
  let chosen: Chosen | undefined;
  const program = new Commander("autonous")
    .description("The tool runtime you can hand an agent the keys to.")
    .version(version, "-V, --version", "show the version")
    .helpOption("-h, --help", "show what can be done")
    .helpCommand(false)
    .showHelpAfterError("(--help shows what can be done)")
    .exitOverride();
  for (const command of COMMANDS) addCommand(program, command, (found) => (chosen = found));
  try {
    program.parse(words, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) throw new NothingChosen(error.exitCode === 0 ? 0 : 2);
    throw error;
  }
  if (chosen === undefined) throw new NothingChosen(2);
  return chosen;
}

function addCommand(program: Commander, command: Command, choose: (chosen: Chosen) => void): void {
  const words = command.name.split(" ");
  const last = words.pop() ?? "";
  const parent = words.reduce(groupOf, program);
  const added = parent.command(last).description(command.summary).exitOverride().allowExcessArguments(false);
  for (const { name, meaning } of command.args ?? []) added.argument(name, meaning);
  for (const { name, meaning } of command.options ?? []) added.addOption(new Option(name, meaning));
  if (command.workspace === true) {
    added.option("--root <folder...>", "folders that tools may touch (default: the current one)");
    added.option("--state-dir <folder>", "where the record is kept (default: .agent)");
  }
  added.option("--json", "one JSON document on stdout and nothing else");
  added.addHelpText("after", `\nExample:\n  ${command.example}`);
  added.action(() => {
    choose({ command, args: added.args, options: added.opts() });
  });
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
  const group = parent
    .command(name)
    .description(GROUPS[name] ?? "")
    .exitOverride()
    .helpCommand(false);
  return group.showHelpAfterError("(--help shows what can be done)");
}
