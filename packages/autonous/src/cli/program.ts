import { nearestNames } from "@autonous/runtime/internal";
import { COMMANDS } from "./all.ts";
import { UsageError } from "./command.ts";
import type { Command, Parameter } from "./command.ts";
import { helpFor, optionsOf } from "./help.ts";

export interface ParsedCommand {
  readonly command: Command;
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
}

/** A request for help or the version instead of a command. */
export interface AboutRequest {
  readonly about: "help" | "version";
  readonly text: string;
}

const HELP = new Set(["-h", "--help"]);
const VERSION = new Set(["-V", "--version"]);
const JSON_FLAG = "--json";

/** Parses the command line. Throws `UsageError`; writes nothing. */
export function parseCommandLine(words: readonly string[], version: () => string): ParsedCommand | AboutRequest {
  const [first, ...rest] = words;
  const asked = first === "help" ? [...rest, "--help"] : words;
  // `--json` may come before the command too.
  const given = asked.filter((word, i) => word !== JSON_FLAG || asked.slice(0, i).some((each) => each !== JSON_FLAG));
  const named = namedBy(given);
  const left = given.slice(named.length);
  const plain = left.includes("--") ? left.slice(0, left.indexOf("--")) : left;
  if (plain.some((word) => HELP.has(word))) return { about: "help", text: helpFor(named) };
  if (named.length === 0 && VERSION.has(left[0] ?? "")) return { about: "version", text: `${version()}\n` };
  const command = COMMANDS.find(({ name }) => name === named.join(" "));
  if (command === undefined) throw noCommand(named, left[0]);
  const { args, options } = readWords(command, left);
  return { command, args, options: asked.includes(JSON_FLAG) ? { ...options, json: true } : options };
}

/** The command or group that the first words name. */
function namedBy(words: readonly string[]): readonly string[] {
  const end = words.findIndex((_, i) => !COMMANDS.some(({ name }) => startsWith(name, words.slice(0, i + 1))));
  return end < 0 ? words : words.slice(0, end);
}

function startsWith(name: string, words: readonly string[]): boolean {
  return `${name} `.startsWith(words.map((word) => `${word} `).join(""));
}

/** The words that can follow these. */
function commandsAfter(named: readonly string[]): string[] {
  const names = COMMANDS.filter(({ name }) => startsWith(name, named)).map(({ name }) => name.split(" ")[named.length]);
  return [...new Set(names.filter((name) => name !== undefined))];
}

function noCommand(named: readonly string[], word: string | undefined): UsageError {
  const after = commandsAfter(named);
  if (word === undefined || word === JSON_FLAG) {
    const asked = ["autonous", ...named].join(" ");
    return new UsageError(`No command is given after "${asked}": it is one of ${after.join(", ")}`, helpFor(named));
  }
  if (word.startsWith("-")) return wrongUse(`Unknown option "${word}"`, named, undefined);
  // A command inside a group: suggest `audit verify` for `verify`.
  const elsewhere = COMMANDS.find(({ name }) => name.endsWith(` ${word}`))?.name;
  return wrongUse(`Unknown command "${word}"`, named, nearestNames(word, after)[0] ?? elsewhere);
}

function wrongUse(problem: string, named: readonly string[], meant: string | undefined): UsageError {
  const next = meant === undefined ? "; see" : `; did you mean ${meant}? See`;
  return new UsageError(`${problem}${next} "${["autonous", ...named].join(" ")} --help"`);
}

/** Parses the words after a command into arguments and options. */
function readWords(command: Command, words: readonly string[]): Pick<ParsedCommand, "args" | "options"> {
  const named = command.name.split(" ");
  const args: string[] = [];
  const options: Record<string, string | boolean | readonly string[]> = {};
  for (let i = 0; i < words.length; i++) {
    const word = words[i] ?? "";
    if (word === "--") {
      args.push(...words.slice(i + 1));
      break;
    }
    if (word === "-" || !word.startsWith("-")) {
      args.push(word);
      continue;
    }
    const [flag, inline] = splitOnce(word, "=");
    const option = optionsOf(command).find(({ name, short }) => name.split(" ")[0] === flag || short === flag);
    if (option === undefined) throw wrongUse(`Unknown option "${flag}"`, named, nearestFlag(command, flag));
    const taken = takesValue(option) ? (inline ?? words[++i]) : inline === undefined ? true : undefined;
    if (taken === undefined) {
      throw wrongUse(
        `Option "${option.name}" ${takesValue(option) ? "argument missing" : "takes no value"}`,
        named,
        undefined,
      );
    }
    const key = keyOf(option.name.split(" ")[0] ?? "");
    options[key] =
      option.repeatable === true ? [...((options[key] as string[] | undefined) ?? []), String(taken)] : taken;
  }
  checkCount(command, args);
  return { args, options };
}

function splitOnce(text: string, at: string): [string, string | undefined] {
  const index = text.indexOf(at);
  return index < 0 ? [text, undefined] : [text.slice(0, index), text.slice(index + 1)];
}

function takesValue({ name }: Parameter): boolean {
  return name.includes(" ");
}

function nearestFlag(command: Command, flag: string): string | undefined {
  return nearestNames(
    flag,
    optionsOf(command).map(({ name }) => name.split(" ")[0] ?? ""),
  )[0];
}

/** `--state-dir` is the option `stateDir`. */
function keyOf(flag: string): string {
  return flag.slice(2).replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function checkCount({ name, args: wanted = [] }: Command, args: readonly string[]): void {
  const named = name.split(" ");
  const missing = wanted.slice(args.length).find((each) => each.name.startsWith("<"));
  if (missing !== undefined) {
    throw wrongUse(`Missing required argument "${missing.name.replaceAll(/[<>.]/g, "")}"`, named, undefined);
  }
  if (args.length <= wanted.length || wanted.some((each) => each.name.includes("..."))) return;
  const most = `${wanted.length} argument${wanted.length === 1 ? "" : "s"}`;
  throw wrongUse(`Too many arguments for "${name}". Expected ${most} but got ${args.length}`, named, undefined);
}
