import { parse } from "unbash";
import type { Function as FunctionNode, ParsedScript } from "unbash";
import { BUILTINS } from "./builtins.ts";
import { CARRIERS } from "./carriers.ts";
import { CODE_RUNNERS } from "./code-runners.ts";
import { DIALECT_RUNNERS } from "./dialects.ts";
import { FILE_FINDERS } from "./find.ts";
import { GIT } from "./git.ts";
import { guessCarried, guessInCode } from "./guess.ts";
import type { Guess } from "./guess.ts";
import { isPlainName } from "./hidden-text.ts";
import { tooCostly } from "./limits.ts";
import { OPTION_CARRIERS } from "./option-carriers.ts";
import type { ShellWord } from "./parsed-shell.ts";
import { isProgramName, plainName } from "./program-names.ts";
import type { PlainCommand, Runner, Unwrap } from "./runner.ts";
import { nameOf } from "./runner.ts";
import {
  addOpaque,
  childScope,
  deeper,
  NO_INPUT,
  openWalk,
  PER_READ,
  PER_WORD,
  reachedBy,
  spend,
  step,
  TooMuchError,
  withAssignments,
} from "./scope.ts";
import type { Scope, Walk } from "./scope.ts";
import { runWritten, SHELLS } from "./shells.ts";
import { SPECIAL_CARRIERS } from "./special-carriers.ts";
import { REMOTES } from "./remotes.ts";

/** What the walk lends, so that a carrier's text is walked like any other. */
interface Walker {
  readonly walk: Walk;
  walkScript(script: ParsedScript, scope: Scope, walk: Walk): void;
  walkBody(body: FunctionNode["body"], scope: Scope, walk: Walk): void;
}

const UNWRAPPERS: ReadonlyMap<string, Unwrap> = new Map(
  [
    BUILTINS,
    SHELLS,
    CARRIERS,
    SPECIAL_CARRIERS,
    FILE_FINDERS,
    OPTION_CARRIERS,
    CODE_RUNNERS,
    DIALECT_RUNNERS,
    GIT,
    REMOTES,
  ].flatMap((table) => [...table]),
);

/** Programs whose code was looked through already. */
const CODE_READERS = new Set([...SHELLS, ...CODE_RUNNERS, ...DIALECT_RUNNERS].map(([name]) => name));

/** Programs that everyday run what the workspace says, and something else only by rare options. */
const CARRY_BY_OPTION = new Set([
  "make",
  "gmake",
  "bmake",
  "cmake",
  "mix",
  "rails",
  "spring",
  "swift",
  "crystal",
  "ghc",
]);

/** Programs that carry others. A rule or a grant for one of them would stand for every command. */
export function isCarrierName(name: string): boolean {
  return UNWRAPPERS.has(plainName(name)) && !CARRY_BY_OPTION.has(name);
}

/** Adds a command to the list, and after it what it carries, to any depth. */
export function runCommand(command: PlainCommand, scope: Scope, walker: Walker): void {
  const { walk } = walker;
  step(walk);
  spend(scope, costOf(command, scope));
  const [name] = command.words;
  const index = walk.commands.length;
  const own = {
    ...command,
    folder: scope.where.folder,
    reached: scope.reached,
    isCarrier: false,
    multiplies: multiplies(name, scope),
  };
  walk.commands.push(own);
  if (name === undefined) return;
  if (name.isDynamic || name.isPattern) {
    addOpaque(walk, "the name of the command is known only when it runs", textOf(command));
    return;
  }
  if (!isPlainName(name.value)) addOpaque(walk, "the name of the command is not in plain letters", textOf(command));
  callFunction(command, scope, walker);
  const unwrap = UNWRAPPERS.get(plainName(nameOf(name))) ?? (walk.written.size > 0 ? runWrittenName : undefined);
  let isCarrier = false;
  deeper(walk, () => {
    isCarrier = unwrap?.(command, runnerFor(command, scope, walker)) === true;
    if (!isCarrier && !scope.functions.has(name.value)) tryGuesses(command, scope, walker);
  });
  if (isCarrier) walk.commands[index] = { ...own, isCarrier };
}

/** Of each guess, beside what it is read and run as. */
const PER_GUESS = 256;
/** A guess inside a guess, and no deeper: each place of a command is tried by itself. */
const MAX_GUESSES = 2;

/** What a program may run that is not known: judged as if it did, apart from what is sure to run. */
function tryGuesses(command: PlainCommand, scope: Scope, walker: Walker): void {
  const { walk } = walker;
  if (walk.guessDepth >= MAX_GUESSES) return;
  const { guesses, opaque } = guessCarried(command, scope, CODE_READERS.has(plainName(nameOf(command.words[0]))));
  for (const guess of guesses) probe(guess, scope, walker);
  if (opaque !== undefined) addOpaque(walk, opaque, textOf(command));
}

function probe(guess: Guess, scope: Scope, walker: Walker): void {
  const { walk } = walker;
  spend(scope, PER_GUESS);
  const found = { ...openWalk(), guessDepth: walk.guessDepth + 1, steps: walk.steps, depth: walk.depth };
  const inner = childScope(scope, { isBash: false, input: NO_INPUT });
  if (guess.words !== undefined)
    runCommand({ words: guess.words, assignments: [], redirections: [] }, inner, { ...walker, walk: found });
  else if (guess.text !== undefined) readText(guess.text, inner, { ...walker, walk: found });
  walk.steps = found.steps;
  const names = found.commands.map(({ words }) => words[0]?.value ?? "");
  const isCommand = guess.words !== undefined || names.some(isProgramName);
  if (isCommand || guess.kind === "likely") {
    const { kind } = guess;
    walk.guessed.push(...found.commands.map((each) => ({ guess: kind, ...each })), ...found.guessed);
  }
  if (isCommand) for (const { reason, text } of found.opaque) addOpaque(walk, reason, text);
  if (!isCommand && guess.text !== undefined) {
    for (const each of guessInCode(guess.text, scope)) probe(each, scope, walker);
  }
}

/** A text that may be shell; one that is not says nothing. */
function readText(text: string, scope: Scope, walker: Walker): void {
  spend(scope, PER_GUESS + PER_READ * text.length);
  if (tooCostly(text) !== undefined) addOpaque(walker.walk, "a text in it is too long to be read with care", "");
  else walker.walkScript(parse(text), scope, walker.walk);
}

/** Each path of a command is looked at from the folder that it runs in. */
function costOf({ words, assignments, redirections }: PlainCommand, { where }: Scope): number {
  const perPath = PER_WORD + 2 * (where.folder.path?.length ?? 0);
  let cost = perPath * (words.length + redirections.length) + PER_WORD * assignments.length;
  for (const { value } of words) cost += value.length;
  for (const { value } of assignments) cost += value.value.length;
  return cost;
}

/** As it was written, for people. */
function textOf({ words }: PlainCommand): string {
  return words.map(({ text }) => text).join(" ");
}

/** `./script.sh` that was written a moment before. */
function runWrittenName({ words: [name] }: PlainCommand, runner: Runner): boolean {
  return name !== undefined && runWritten(name, runner);
}

/** A function that starts itself beside itself, or a loop without end that leaves something behind each time. */
function multiplies(name: ShellWord | undefined, scope: Scope): boolean {
  if (name === undefined) return false;
  if (scope.isParallel && (scope.within.includes(name.value) || /^\$\{?0\}?$/.test(name.text))) return true;
  const { reached } = scope;
  return scope.isEndless && reached.lastIndexOf("background") > reached.lastIndexOf("loop");
}

function callFunction({ words, assignments }: PlainCommand, scope: Scope, { walk, walkBody }: Walker): void {
  const name = words[0]?.value ?? "";
  const body = scope.functions.get(name)?.body;
  if (body === undefined || scope.within.includes(name)) return;
  const inner = reachedBy(scope, `function ${name}`, {
    positionals: words,
    within: [...scope.within, name],
    isParallel: false,
  });
  withAssignments(assignments, inner, () => deeper(walk, () => walkBody(body, inner, walk)));
}

function runnerFor(command: PlainCommand, outer: Scope, walker: Walker): Runner {
  const { walk } = walker;
  const name = nameOf(command.words[0]);
  const scope = reachedBy(outer, name);
  let text: string | undefined;
  const opaque = (reason: string): void => addOpaque(walk, reason, (text ??= textOf(command)));
  const runText = (source: string, inner: Scope = childOf(scope, command)): void => {
    spend(scope, PER_READ * source.length);
    const reason = tooCostly(source);
    if (reason !== undefined) throw new TooMuchError(reason);
    walker.walkScript(parse(source), inner, walk);
  };
  return {
    walk,
    scope,
    name,
    opaque,
    runText,
    run(words, more = {}) {
      const { scope: inner = scope, assignments = command.assignments, redirections = [] } = more;
      if (words.length > 0) runCommand({ words, assignments, redirections }, inner, walker);
    },
    runWord(word) {
      if (word === undefined) return;
      if (word.isDynamic) opaque(`the text that ${name} runs is known only when it runs`);
      else runText(word.value);
    },
  };
}

/** The shell that a carrier starts sees what is exported, and what stands before the command. */
function childOf(scope: Scope, { assignments }: PlainCommand): Scope {
  const child = childScope(scope, { isBash: false });
  for (const { name, value } of assignments) {
    child.variables.set(name, value.isDynamic ? undefined : [value.value]);
    child.exported.add(name);
  }
  return child;
}
