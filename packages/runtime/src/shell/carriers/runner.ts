import type { ShellAssignment, ShellRedirection, ShellWord } from "../parsed-shell.ts";
import type { Scope, Walk } from "../evaluation/scope.ts";

export interface PlainCommand {
  readonly words: readonly ShellWord[];
  readonly assignments: readonly ShellAssignment[];
  readonly redirections: readonly ShellRedirection[];
}

/** How a carrier passes on the commands it carries. */
export interface Runner {
  readonly walk: Walk;
  readonly scope: Scope;
  /** The name of the carrier, for display. */
  readonly name: string;
  /** Other words, run as a command. */
  run(words: readonly ShellWord[], more?: Partial<PlainCommand> & { readonly scope?: Scope }): void;
  /** Text, run by a separate shell. */
  runText(text: string, scope?: Scope): void;
  /** The same for a word: opaque if it is dynamic. */
  runWord(word: ShellWord | undefined): void;
  opaque(reason: string): void;
  /** Code that may do more than was recognized: the commands that it names are judged as possible ones. */
  mention(code: string): void;
}

/** Passes on the carried commands. `false`: these words carry nothing. */
export type Unwrap = (command: PlainCommand, runner: Runner) => boolean;

export function nameOf(word: ShellWord | undefined): string {
  return word === undefined ? "" : word.value.slice(word.value.lastIndexOf("/") + 1);
}

/** The text of words that a program joins with spaces; undefined if one is unknown. */
export function joinWords(words: readonly ShellWord[]): string | undefined {
  if (words.some(({ isDynamic }) => isDynamic)) return undefined;
  return words.map(({ value }) => value).join(" ");
}

/** The original source, for display. */
export function joinText(words: readonly ShellWord[]): string {
  return words.map(({ text }) => text).join(" ");
}
