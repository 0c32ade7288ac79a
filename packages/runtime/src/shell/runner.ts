import type { ShellAssignment, ShellRedirection, ShellWord } from "./parsed-shell.ts";
import type { Scope, Walk } from "./scope.ts";

export interface PlainCommand {
  readonly words: readonly ShellWord[];
  readonly assignments: readonly ShellAssignment[];
  readonly redirections: readonly ShellRedirection[];
}

/** How a carrier hands on what it carries. */
export interface Runner {
  readonly walk: Walk;
  readonly scope: Scope;
  /** The name of the carrier, for people. */
  readonly name: string;
  /** Other words, run as a command. */
  run(words: readonly ShellWord[], more?: Partial<PlainCommand> & { readonly scope?: Scope }): void;
  /** A text, read as shell by a shell of its own. */
  runText(text: string, scope?: Scope): void;
  /** The same for a word: opaque where it is dynamic. */
  runWord(word: ShellWord | undefined): void;
  opaque(reason: string): void;
  /** Code that may do more than is read out of it: the commands that it names are judged as what may run. */
  mention(code: string): void;
}

/** Hands on what a command carries. `false`: these words carry nothing. */
export type Unwrap = (command: PlainCommand, runner: Runner) => boolean;

export function nameOf(word: ShellWord | undefined): string {
  return word === undefined ? "" : word.value.slice(word.value.lastIndexOf("/") + 1);
}

/** The text of words that a program joins with spaces; undefined where one is not known. */
export function joinWords(words: readonly ShellWord[]): string | undefined {
  if (words.some(({ isDynamic }) => isDynamic)) return undefined;
  return words.map(({ value }) => value).join(" ");
}

/** As it was written, for people. */
export function joinText(words: readonly ShellWord[]): string {
  return words.map(({ text }) => text).join(" ");
}
