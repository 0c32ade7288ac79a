import type { Function as FunctionNode, ParsedScript } from "unbash";
import type { Input, OpaquePart, ShellAssignment, ShellFolder, ShellWord, SimpleCommand } from "./parsed-shell.ts";
import { SharedMap } from "./shared-map.ts";

export const NO_INPUT: Input = { kind: "none" };
export const UNKNOWN_INPUT: Input = { kind: "unknown", isForeign: false };
export const FOREIGN_INPUT: Input = { kind: "unknown", isForeign: true };

/** The values that a variable may be known to hold; several for an array. Undefined: not known. */
export type Values = readonly string[] | undefined;

/** What the shell knows at one point of a script. Changed as the script is walked; subshells get a copy. */
export interface Scope {
  readonly variables: SharedMap<Values>;
  readonly exported: SharedMap<true>;
  readonly functions: SharedMap<FunctionNode>;
  /** `$0`, `$1` … where they are known. */
  positionals: readonly ShellWord[] | undefined;
  /** Shared by the parts of one shell, so that a `cd` in one is seen by those after it. */
  readonly where: { folder: ShellFolder };
  input: Input;
  reached: readonly string[];
  /** Functions whose bodies are being walked, the innermost last. */
  readonly within: readonly string[];
  /** Whether several of it may run at once: a part of a pipe, or in the background. */
  isParallel: boolean;
  /** Inside a loop that does not end by itself. */
  isEndless: boolean;
  /** Read by bash or a shell of its grammar: a syntax error is then certain to be one. */
  isBash: boolean;
  /** What a command substitution is known to give. */
  readonly outputOf: OutputOf;
  /** Shared by all scopes of one text. */
  readonly effort: { spent: number; readonly limit: number };
}

export type OutputOf = (script: ParsedScript, scope: Scope) => string | undefined;

/** What is gathered while a script is walked. */
export interface Walk {
  readonly commands: SimpleCommand[];
  readonly opaque: OpaquePart[];
  readonly guessed: SimpleCommand[];
  /** How many guesses stand around what is walked. */
  readonly guessDepth: number;
  /** The reasons that are in that list, by text. */
  readonly noted: Map<string, Set<string>>;
  /** Something evaluates text a second time: arithmetic, `${!x}`, `[[ -v … ]]`, `declare` … */
  evaluates: boolean;
  /** A text in quotes holds a command substitution, which would run if it were evaluated a second time. */
  holdsSubstitution: boolean;
  /** Files that a command before wrote, with what they hold, so that running one is running that. */
  readonly written: Map<string, Input>;
  /** What was written to files and not yet looked through for commands. */
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

/** The same scope, reached by one more way. What it changes stays changed. */
export function reachedBy(scope: Scope, by: string, changes: Partial<Scope> = {}): Scope {
  return { ...scope, reached: [...scope.reached, by], ...changes };
}

/** A shell of its own: only exported variables reach it, and functions do not. */
export function childScope(scope: Scope, changes: Partial<Scope>): Scope {
  spend(scope, 2 * PER_NAME * scope.exported.size);
  const variables = new SharedMap<Values>();
  for (const name of scope.exported.keys()) variables.set(name, scope.variables.get(name));
  // What is not exported may still be set in the environment, so it is unknown rather than unset.
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

/** After something that may or may not have run: what differs is not known any more. */
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

/** What stands before a builtin or a function holds while that runs; whether it stays depends on the shell. */
export function withAssignments(assignments: readonly ShellAssignment[], scope: Scope, action: () => void): void {
  for (const { name, value } of assignments) scope.variables.set(name, value.isDynamic ? undefined : [value.value]);
  action();
  for (const { name } of assignments) scope.variables.set(name, undefined);
}

/** Thrown when a text asks for more work than a person's command ever does; the whole is opaque then. */
export class TooMuchError extends Error {}

/** As many commands as this are looked at, expansions of functions and loops included. */
const MAX_STEPS = 2_000;
const MAX_DEPTH = 40;

/**
 * What may be spent on a text, in units of about 10 ns: so much for each of its characters, and no less than for 8 kB.
 * Whatever a text expands to, the time it takes is linear in its length: at most about 5 ms for 8 kB.
 */
const EFFORT_PER_CHARACTER = 40;
const LEAST_LENGTH = 8_192;
/** Of each name that is copied or compared. */
export const PER_NAME = 8;
/** Of each character that is read as shell. */
export const PER_READ = 8;
/** Of each word that is handed on, beside its characters. */
export const PER_WORD = 8;

/** Whatever a text can multiply is paid for before it is made. */
export function spend({ effort }: Pick<Scope, "effort">, amount: number): void {
  effort.spent += amount;
  if (effort.spent > effort.limit) throw new TooMuchError("it stands for more than can be looked at with care");
}

export function step(walk: Walk): void {
  if (++walk.steps > MAX_STEPS) throw new TooMuchError("it runs more commands than can be looked at with care");
}

/** Does something one level further in. */
export function deeper(walk: Walk, action: () => void): void {
  if (walk.depth >= MAX_DEPTH) throw new TooMuchError("it is nested too deeply to be read with care");
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
