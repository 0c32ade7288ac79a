import { parse } from "unbash";
import { BUILTINS } from "./builtins.ts";
import { CARRIERS } from "./carriers.ts";
import { CODE_RUNNERS } from "../code/code-runners.ts";
import { DIALECT_RUNNERS } from "./dialects.ts";
import { FILE_FINDERS } from "./find-carriers.ts";
import { GIT } from "./git.ts";
import { tryGuesses, tryNamed, tryText } from "../guesses/guesses.ts";
import type { Prober, Walker } from "../guesses/guesses.ts";
import { isPlainName } from "../hidden-text.ts";
import { tooCostly } from "../limits.ts";
import { EVERYDAY_BY_OPTION, OPTION_CARRIERS } from "./option-carriers.ts";
import type { ShellWord } from "../parsed-shell.ts";
import { isPlainProgram, plainName } from "../programs/program-names.ts";
import type { PlainCommand, Runner, Unwrap } from "./runner.ts";
import { joinText, nameOf } from "./runner.ts";
import {
  addOpaque,
  childScope,
  deeper,
  PER_READ,
  PER_WORD,
  reachedBy,
  spend,
  step,
  TooMuchError,
  withAssignments,
} from "../evaluation/scope.ts";
import type { Scope } from "../evaluation/scope.ts";
import { runWritten, SHELLS } from "./shells.ts";
import { givenForeign, noteWrites } from "../evaluation/written-files.ts";
import { SPECIAL_CARRIERS } from "./special-carriers.ts";
import { REMOTES } from "./remotes.ts";

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

/** Programs whose code was already examined. */
const CODE_READERS = new Set([...SHELLS, ...CODE_RUNNERS, ...DIALECT_RUNNERS].map(([name]) => name));

/** Programs that normally run the workspace's own configuration, and anything else only by rare options. */
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
  ...EVERYDAY_BY_OPTION,
]);

/** Programs that run other commands. A rule or a grant for one of them would cover every command. */
export function isCarrierName(name: string): boolean {
  return UNWRAPPERS.has(plainName(name)) && !CARRY_BY_OPTION.has(name);
}

/** Adds a command to the list, followed by the commands it carries, to any depth. */
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
    addOpaque(walk, "the name of the command is known only when it runs", joinText(command.words));
    return;
  }
  if (!isPlainName(name.value))
    addOpaque(walk, "the name of the command has characters other than plain letters", joinText(command.words));
  callFunction(command, scope, walker);
  const base = plainName(nameOf(name));
  const unwrap = UNWRAPPERS.get(base);
  let isCarrier = false;
  deeper(walk, () => {
    // Most commands carry nothing: objects for carriers are created only when needed.
    let made: Runner | undefined;
    const runner = (): Runner => (made ??= runnerFor(command, scope, walker));
    isCarrier = (name.value.includes("/") && runWritten(name, runner())) || unwrap?.(command, runner()) === true;
    if (!isCarrier && !scope.functions.has(name.value)) tryGiven(command, scope, walker);
    if (!isPlainProgram(base)) {
      const prober = { ...walker, run: runCommand };
      for (const text of [...walk.unread.splice(0), ...handedOn(command)]) tryNamed(text, scope, prober);
    }
    const foreign = givenForeign(command, scope, walk);
    if (foreign !== undefined) runner().opaque(foreign);
  });
  noteWrites(command, scope, walk);
  if (isCarrier) walk.commands[index] = { ...own, isCarrier };
}

/** Commands that a program without a carrier row may still run. */
function tryGiven(command: PlainCommand, scope: Scope, walker: Walker): void {
  const { words } = command;
  const name = words[0]?.value ?? "";
  const base = plainName(nameOf(words[0]));
  // For a program known to be harmless only long options are examined.
  if (isPlainProgram(base) && !words.some(({ value }) => value.startsWith("--"))) return;
  const prober: Prober = { ...walker, run: runCommand };
  const readsCode = CODE_READERS.has(base);
  tryGuesses(command, scope, { ...prober, readsCode });
  // A name with a space in it is text that another program runs.
  if (/^[^\s/]+\s/.test(name)) tryText(name, scope, prober);
  // A script may run its standard input.
  if (readsCode && scope.input.kind === "known") tryNamed(scope.input.text, scope, prober);
}

/** Per text that is read as shell, however short. */
const PER_TEXT = 384;

/** Each path of a command is checked relative to the folder that it runs in. */
function costOf({ words, assignments, redirections }: PlainCommand, { where }: Scope): number {
  const perPath = PER_WORD + 2 * (where.folder.path?.length ?? 0);
  let cost = perPath * (words.length + redirections.length) + PER_WORD * assignments.length;
  for (const { value } of words) cost += value.length;
  for (const { value } of assignments) cost += value.value.length;
  return cost;
}

/** Values of several words that a program finds in its environment: `OPENER='less -R' files`. */
function handedOn({ assignments }: PlainCommand): readonly string[] {
  return assignments.flatMap(({ value: { value, isDynamic } }) => (!isDynamic && /\s/.test(value) ? [value] : []));
}

/** A function that starts itself in parallel, or an endless loop that leaves a process behind each time. */
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
  const opaque = (reason: string): void => addOpaque(walk, reason, (text ??= joinText(command.words)));
  const runText = (source: string, inner: Scope = childOf(scope, command)): void => {
    spend(scope, PER_TEXT + PER_READ * source.length);
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
    mention: (code) => tryNamed(code, scope, { ...walker, run: runCommand }),
  };
}

/** The shell started by a carrier sees exported variables, and the assignments before the command. */
function childOf(scope: Scope, { assignments }: PlainCommand): Scope {
  const child = childScope(scope, { isBash: false });
  for (const { name, value } of assignments) {
    child.variables.set(name, value.isDynamic ? undefined : [value.value]);
    child.exported.set(name, true);
  }
  return child;
}
