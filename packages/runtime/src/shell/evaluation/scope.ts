import type { Function as FunctionNode, ParsedScript } from "unbash";
import type { Input, OpaquePart, ShellAssignment, ShellFolder, ShellWord, SimpleCommand } from "../parsed-shell.ts";
import { SharedMap } from "./shared-map.ts";

export const NO_INPUT: Input = { kind: "none" };
export const UNKNOWN_INPUT: Input = { kind: "unknown", isForeign: false };
export const FOREIGN_INPUT: Input = { kind: "unknown", isForeign: true };

/** The known values of a variable; several for an array. Undefined: unknown. */
export type Values = readonly string[] | undefined;

/** The shell's state at one point of a script. Changed while the script is walked; subshells get a copy. */
export interface Scope {
  readonly variables: SharedMap<Values>;
  readonly exported: SharedMap<true>;
  readonly functions: SharedMap<FunctionNode>;
  /** `$0`, `$1` … if known. */
  positionals: readonly ShellWord[] | undefined;
  /** Shared by the parts of one shell, so that a `cd` in one affects those after it. */
  readonly where: { folder: ShellFolder };
  input: Input;
  reached: readonly string[];
  /** Functions whose bodies are being walked, the innermost last. */
  readonly within: readonly string[];
  /** Whether several instances may run at once: a part of a pipe, or in the background. */
  isParallel: boolean;
  /** Inside a loop that does not end by itself. */
  isEndless: boolean;
  /** Run by bash or a shell with its grammar: a syntax error is then certain. */
  isBash: boolean;
  /** Outputs of command substitutions, if known. */
  readonly outputOf: OutputOf;
  /** Shared by all scopes of one text. */
  readonly effort: { spent: number; readonly limit: number };
}

export type OutputOf = (script: ParsedScript, scope: Scope) => string | undefined;

/** Collected while a script is walked. */
export interface Walk {
  readonly commands: SimpleCommand[];
  readonly opaque: OpaquePart[];
  readonly guessed: SimpleCommand[];
  /** The number of enclosing guesses. */
  readonly guessDepth: number;
  /** The reasons in that list, by text. */
  readonly noted: Map<string, Set<string>>;
  /** A construct evaluates text a second time: arithmetic, `${!x}`, `[[ -v … ]]`, `declare` … */
  evaluates: boolean;
  /** A quoted text contains a command substitution, which would run if it were evaluated a second time. */
  holdsSubstitution: boolean;
  /** Files written by an earlier command, with their content, so that running one runs that content. */
  readonly written: Map<string, Input>;
  /** Text written to files and not yet searched for commands. */
  readonly unread: string[];
  steps: number;
  depth: number;
}

export function openScope(outputOf: OutputOf, text: string): Scope {
  return {
    variables: new SharedMap(),
    exported: new SharedMap(),
    functions: new SharedMap(),
    positionals: undefined,
    where: { folder: { path: ".", isCertain: true } },
    input: NO_INPUT,
    reached: [],
    within: [],
    isParallel: false,
    isEndless: false,
    isBash: true,
    outputOf,
    effort: { spent: 0, limit: EFFORT_PER_CHARACTER * Math.max(text.length, LEAST_LENGTH) },
  };
}

export function openWalk(): Walk {
  return {
    commands: [],
    opaque: [],
    guessed: [],
    guessDepth: 0,
    noted: new Map(),
    evaluates: false,
    holdsSubstitution: false,
    written: new Map(),
    unread: [],
    steps: 0,
    depth: 0,
  };
}

export function copyScope(scope: Scope, changes: Partial<Scope> = {}): Scope {
  spend(scope, PER_NAME * (scope.variables.size + scope.exported.size + scope.functions.size));
  return {
    ...scope,
    variables: scope.variables.copy(),
    exported: scope.exported.copy(),
    functions: scope.functions.copy(),
    where: { ...scope.where },
    ...changes,
  };
}

/** The same scope, reached in one more way. Its changes persist. */
export function reachedBy(scope: Scope, by: string, changes: Partial<Scope> = {}): Scope {
  return { ...scope, reached: [...scope.reached, by], ...changes };
}

/** A separate shell: it gets only exported variables, and no functions. */
export function childScope(scope: Scope, changes: Partial<Scope>): Scope {
  spend(scope, 2 * PER_NAME * scope.exported.size);
  const variables = new SharedMap<Values>();
  for (const name of scope.exported.keys()) variables.set(name, scope.variables.get(name));
  // A variable that is not exported may still be in the environment, so it is unknown rather than unset.
  return {
    ...scope,
    variables,
    exported: scope.exported.copy(),
    functions: new SharedMap(),
    where: { ...scope.where },
    positionals: undefined,
    ...changes,
  };
}

/** After a part that may or may not have run: differing values become unknown. */
export function join(scope: Scope, other: Scope): void {
  spend(scope, PER_NAME * (scope.variables.size + other.variables.size + other.exported.size + other.functions.size));
  if (!scope.variables.isSameAs(other.variables)) joinVariables(scope.variables, other.variables);
  if (!scope.exported.isSameAs(other.exported))
    for (const name of other.exported.keys()) scope.exported.set(name, true);
  if (!scope.functions.isSameAs(other.functions))
    for (const [name, body] of other.functions.entries()) scope.functions.set(name, body);
  const { folder } = other.where;
  if (folder.path !== scope.where.folder.path) scope.where.folder = { path: undefined, isCertain: false };
  else if (!folder.isCertain) scope.where.folder = folder;
}

function joinVariables(variables: SharedMap<Values>, others: SharedMap<Values>): void {
  for (const [name, values] of variables.entries()) {
    if (!isSame(values, others.get(name))) variables.set(name, undefined);
  }
  for (const name of others.keys()) if (!variables.has(name)) variables.set(name, undefined);
}

function isSame(values: Values, others: Values): boolean {
  if (values === others || values === undefined || others === undefined) return values === others;
  return values.length === others.length && values.every((value, index) => value === others[index]);
}

/** Assignments before a builtin or a function apply while it runs; whether they persist depends on the shell. */
export function withAssignments(assignments: readonly ShellAssignment[], scope: Scope, action: () => void): void {
  for (const { name, value } of assignments) scope.variables.set(name, value.isDynamic ? undefined : [value.value]);
  action();
  for (const { name } of assignments) scope.variables.set(name, undefined);
}

/** Thrown if a text needs more work than a real command ever does; the full text is then opaque. */
export class TooMuchError extends Error {}

/** Maximum number of commands examined, including expansions of functions and loops. */
const MAX_STEPS = 2_000;
const MAX_DEPTH = 40;

/**
 * The budget for a text, in units of about 10 ns: per character, and at least that of 8 kB. Whatever a text expands to,
 * the time is linear in its length: at most about 5 ms for 8 kB.
 */
const EFFORT_PER_CHARACTER = 40;
const LEAST_LENGTH = 8_192;
/** Per name that is copied or compared. */
export const PER_NAME = 8;
/** Per character that is read as shell. */
export const PER_READ = 8;
/** Per word that is passed on, in addition to its characters. */
export const PER_WORD = 8;

/** Anything that a text can multiply is counted before it is created. */
export function spend({ effort }: Pick<Scope, "effort">, amount: number): void {
  effort.spent += amount;
  if (effort.spent > effort.limit) throw new TooMuchError("it expands to more than can be examined");
}

export function step(walk: Walk): void {
  if (++walk.steps > MAX_STEPS) throw new TooMuchError("it runs more commands than can be examined");
}

/** Runs a function one level deeper. */
export function deeper(walk: Walk, action: () => void): void {
  if (walk.depth >= MAX_DEPTH) throw new TooMuchError("it is nested too deeply to be examined");
  walk.depth++;
  action();
  walk.depth--;
}

export function addUnreadable(walk: Walk, reason: string, text: string): void {
  walk.opaque.push({ reason, text, isUnreadable: true });
}

export function addOpaque(walk: Walk, reason: string, text: string): void {
  const reasons = walk.noted.get(text) ?? new Set();
  if (reasons.has(reason)) return;
  walk.noted.set(text, reasons.add(reason));
  walk.opaque.push({ reason, text });
}
