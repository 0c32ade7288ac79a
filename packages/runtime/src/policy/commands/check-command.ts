import { commandLine } from "../../shell/describe.ts";
import { gitSubcommand } from "../../shell/carriers/git.ts";
import { hasOption, optionValues, readArguments } from "../../shell/programs/options.ts";
import type { Arguments } from "../../shell/programs/options.ts";
import { knownWord } from "../../shell/parsed-shell.ts";
import type { ParsedShell, ShellWord, SimpleCommand } from "../../shell/parsed-shell.ts";
import { matchSubcommands, optionsOf } from "../../shell/programs/program-options.ts";
import type { Subcommands } from "../../shell/programs/program-options.ts";
import { COMMAND_DANGERS } from "./command-dangers.ts";
import type { Danger } from "./command-dangers.ts";
import { COMMAND_EFFECTS } from "./command-effects.ts";
import { declaredAssignments, judgeAssignment } from "./command-environment.ts";
import { readDenylist } from "../rules/command-pattern.ts";
import { placeOf, resolveWord } from "./command-places.ts";
import type { CommandGround } from "./command-places.ts";
import { judgeWrites } from "./command-remarks.ts";
import type { Remark } from "./command-remarks.ts";

/** From worst to best. "unreadable": bash could not parse it. "undoable": it loses work that undo restores. */
const LEVELS = ["destructive", "unreadable", "risky", "opaque", "undoable"] as const;
export type CommandLevel = (typeof LEVELS)[number] | "everyday";

export interface CommandFinding {
  readonly level: Exclude<CommandLevel, "everyday">;
  /** The command as shown to a person; empty if the finding is about the whole text. */
  readonly command: string;
  /** A clause about the command: "it deletes the whole workspace". */
  readonly reason: string;
}

export interface CommandVerdict {
  readonly level: CommandLevel;
  readonly findings: readonly CommandFinding[];
}

export interface CommandContext extends CommandGround {
  /** `AUTONOUS_TOOL_BASH_DENYLIST`: word patterns, separated by commas or line breaks. */
  readonly denylist?: string;
}

/**
 * How dangerous a parsed text is: as dangerous as the worst of its commands (spec 3, Commands). Each command is judged
 * by its parsed words, never by matching text. Pure, never throws.
 */
export function judgeCommands(parsed: ParsedShell, context: CommandContext): CommandVerdict {
  const denied = context.denylist === undefined ? [] : readDenylist(context.denylist);
  const findings: CommandFinding[] = parsed.opaque.map(({ reason, text, isUnreadable }) => ({
    level: isUnreadable === true ? "unreadable" : "opaque",
    command: text,
    reason,
  }));
  for (const command of [...parsed.commands, ...withoutSame(parsed.guessed)]) {
    const found = remarksOn(command, context);
    const remarks = shorten([...denials(command, denied), ...(command.guess === "named" ? onNamed(found) : found)]);
    const line = remarks.length === 0 ? "" : commandLine(command);
    for (const { level, reason } of remarks) findings.push({ level, command: line, reason });
  }
  const level = LEVELS.find((each) => findings.some((finding) => finding.level === each)) ?? "everyday";
  return { level, findings: withoutRepeats(findings) };
}

/** Skips repeated guesses: a long script often repeats the same command. */
function withoutSame(guessed: readonly SimpleCommand[]): readonly SimpleCommand[] {
  const seen = new Set<string>();
  return guessed.filter((command) => {
    const { words, assignments, redirections, folder, guess, multiplies } = command;
    if (assignments.length + redirections.length > 0 || multiplies) return true;
    const dynamic = words.map(({ isDynamic }) => (isDynamic ? "1" : "0")).join("");
    const key = [guess, folder.path, folder.isCertain, dynamic, ...words.map(({ value }) => value)].join("\0");
    return seen.size < seen.add(key).size;
  });
}

/** A command that is only named may never run: it needs approval, whatever it would do. */
function* onNamed(remarks: Iterable<AnyRemark>): Generator<AnyRemark> {
  for (const { level, reason } of remarks) {
    if (level === "destructive" || level === "risky")
      yield { level: "opaque", reason: `it may be run as a command, and then ${reason}` };
  }
}

/** Findings of one kind per command; a person reads no more. */
const MAX_ALIKE = 20;

/** A command with a thousand operands has a thousand equal findings. */
function shorten<T extends { readonly level: string }>(remarks: readonly T[]): readonly T[] {
  if (remarks.length <= MAX_ALIKE) return remarks;
  const counts = new Map<string, number>();
  return remarks.filter(({ level }) => {
    const count = (counts.get(level) ?? 0) + 1;
    counts.set(level, count);
    return count <= MAX_ALIKE;
  });
}

function* denials(command: SimpleCommand, denied: ReturnType<typeof readDenylist>): Generator<Remark> {
  for (const { pattern, words } of denied) {
    if (words.matches(command)) yield { level: "destructive", reason: `the denylist names it ("${pattern}")` };
  }
}

/** Grouped by command: one long command may have many findings, and its text is compared only once. */
function withoutRepeats(findings: readonly CommandFinding[]): readonly CommandFinding[] {
  const seen = new Map<string, Set<string>>();
  const isNew = ({ level, command, reason }: CommandFinding): boolean => {
    const known = seen.get(command) ?? new Set();
    const before = known.size;
    seen.set(command, known.add(`${level} ${reason}`));
    return known.size > before;
  };
  return findings.filter(isNew).sort((one, other) => LEVELS.indexOf(one.level) - LEVELS.indexOf(other.level));
}

type AnyRemark = Remark | { readonly level: "opaque"; readonly reason: string };

function* remarksOn(command: SimpleCommand, ground: CommandGround): Generator<AnyRemark> {
  if (command.multiplies) yield { level: "destructive", reason: "it is a fork bomb" };
  const written = command.redirections.filter(({ operator }) => operator.includes(">") && operator !== "<&");
  const targets = written.filter(({ operator, target }) => operator !== ">&" || !/^(?:\d+-?|-)$/.test(target.value));
  yield* judgeWrites(
    command,
    ground,
    targets.map(({ target }) => target),
  );
  if (command.redirections.some(({ target }) => /^\/dev\/(?:tcp|udp)\//.test(target.value))) {
    yield { level: "risky", reason: "it opens a connection" };
  }
  for (const assignment of [...command.assignments, ...declaredAssignments(command)]) {
    const reason = judgeAssignment(assignment, command);
    if (reason !== undefined) yield { level: "opaque", reason };
  }
  const [name] = command.words;
  if (name === undefined || name.isDynamic) return;
  yield* byTables(name, command, ground);
}

function* byTables(name: ShellWord, command: SimpleCommand, ground: CommandGround): Generator<AnyRemark> {
  const base = name.value.slice(name.value.lastIndexOf("/") + 1);
  const rows = dangersByName.get(base) ?? [];
  const given = rows.length === 0 ? undefined : argumentsOf(base, command.words);
  for (const { danger, subcommands } of rows) {
    if (given === undefined || !fits(danger, subcommands, given)) continue;
    if (command.guess === "possible" && isNameAlone(danger, subcommands) && !namesPlace(command)) {
      if (danger.level === "destructive") yield { level: "opaque", reason: `it may be run, and then ${danger.why}` };
      continue;
    }
    const isBeyondUndo = danger.level === "undoable" && !worksInside(command, ground);
    yield { level: isBeyondUndo ? "risky" : danger.level, reason: danger.why };
  }
  const needsSubcommand = rows.some(({ subcommands }) => subcommands.length > 0);
  if (needsSubcommand && given?.operands[0]?.isDynamic === true && given.operands[0].value === "") {
    yield { level: "opaque", reason: `what ${base} does is known only when it runs` };
  }
  yield* COMMAND_EFFECTS[base]?.(command, ground) ?? [];
}

/** Whether a command works in the workspace; `git -C` may point elsewhere. */
function worksInside({ words, folder }: SimpleCommand, ground: CommandGround): boolean {
  const { options } = readArguments(words, GIT_FOLDERS, { stopsEarly: true });
  const named = words[0]?.value === "git" ? optionValues(options, "-C", "--git-dir", "--work-tree") : [];
  return [knownWord("."), ...named].every((word) => {
    const path = word.isDynamic ? undefined : resolveWord(word, folder, ground);
    return path !== undefined && /^(?:root|inside|repository)$/.test(placeOf(path, ground));
  });
}

const GIT_FOLDERS = { short: "Cc", long: ["git-dir", "work-tree", "namespace"] };

/** A row that matches by the program's name alone: among the words of another program that may be a coincidence. */
function isNameAlone(danger: Danger, subcommands: Row["subcommands"]): boolean {
  return subcommands.length === 0 && danger.operand === undefined && danger.with === undefined;
}

function namesPlace({ words }: SimpleCommand): boolean {
  return words.slice(1).some(({ value }) => value.startsWith("/dev/"));
}

interface Row {
  readonly danger: Danger;
  /** The alternatives for each word after the name. */
  readonly subcommands: readonly (readonly string[])[];
}

const dangersByName = new Map<string, Row[]>();
for (const danger of COMMAND_DANGERS) {
  const [names = "", ...rest] = danger.run.split(" ");
  const row: Row = { danger, subcommands: rest.map((choices) => choices.split("|")) };
  for (const name of names.split("|")) dangersByName.set(name, [...(dangersByName.get(name) ?? []), row]);
}

interface CommandArguments extends Arguments, Subcommands {}

function argumentsOf(base: string, words: readonly ShellWord[]): CommandArguments {
  if (base !== "git") return { ...readArguments(words, optionsOf(base)), words };
  const rest = gitSubcommand(words);
  const { options, operands, ...more } = readArguments(rest, { short: "m", long: ["message"] });
  return { ...more, options, words: rest, operands: [...rest.slice(0, 1), ...operands] };
}

function fits(danger: Danger, subcommands: Row["subcommands"], given: CommandArguments): boolean {
  const { options, operands } = given;
  const taken = matchSubcommands(given, subcommands);
  if (taken === undefined) return false;
  if (danger.without !== undefined && hasOption(options, ...danger.without)) return false;
  if (danger.with !== undefined && !isGiven(danger.with, danger.value, options)) return false;
  const rest = operands.slice(taken);
  return danger.operand === undefined || rest.some(({ value }) => danger.operand?.test(value) === true);
}

/** One of these options, with a matching value if the row requires one. */
function isGiven(names: readonly string[], value: RegExp | undefined, options: Arguments["options"]): boolean {
  if (value === undefined) return hasOption(options, ...names);
  return optionValues(options, ...names).some((word) => value.test(word.value));
}
