/** A word of a command as the shell would hand it over. */
export interface ShellWord {
  /**
   * Its value; of a dynamic word, what comes before the part that cannot be known. The home folder is written `~`, and a
   * name that merely begins with that sign `./~`.
   */
  readonly value: string;
  /** The source, for people. */
  readonly text: string;
  /** Its value cannot be known before it runs. */
  readonly isDynamic: boolean;
  /** May turn into several words, or none. */
  readonly canSplit: boolean;
  /** Stands for file names: an unquoted `*`, `?` or `[`. */
  readonly isPattern: boolean;
  /** What a program reads that opens it as a file, where it is a process substitution: `<(echo text)`. */
  readonly input?: Input;
}

/**
 * What comes in on standard input: nothing, a text that is known, or one that is not. A foreign one comes from the
 * network or out of a decoder.
 */
export type Input =
  | { readonly kind: "none" }
  | { readonly kind: "unknown"; readonly isForeign: boolean }
  | { readonly kind: "known"; readonly text: string };

export interface ShellAssignment {
  readonly name: string;
  readonly value: ShellWord;
}

export interface ShellRedirection {
  /** `>`, `>>`, `>|`, `&>`, `&>>`, `<>`, `>&`, `<`. */
  readonly operator: string;
  readonly target: ShellWord;
}

/** The working folder of a command: as `cd` before it leaves it, relative to where the whole began. */
export interface ShellFolder {
  /** Undefined where it cannot be known. */
  readonly path: string | undefined;
  /** Whether the `cd` that leads there must have worked for the command to run. */
  readonly isCertain: boolean;
}

export interface SimpleCommand {
  /** Empty for assignments or redirections alone. */
  readonly words: readonly ShellWord[];
  readonly assignments: readonly ShellAssignment[];
  readonly redirections: readonly ShellRedirection[];
  readonly folder: ShellFolder;
  /** How it is reached, from the outside in: "pipe", "substitution", "subshell", "function f", "loop", "sudo", "bash -c" … */
  readonly reached: readonly string[];
  /** Runs other commands, which stand in the list as well. */
  readonly isCarrier: boolean;
  /** Starts itself, or more and more processes without end. */
  readonly multiplies: boolean;
  /** Of a command that another one may run: how sure that is. */
  readonly guess?: GuessKind;
}

/**
 * `likely`: it stands behind `--`, by its full path, or in an option that runs its value. `named`: a text in code or in a
 * file that was just written; most of those are never run.
 */
export type GuessKind = "likely" | "possible" | "named";

/** Something of which cannot be known, before it runs, what it would do. */
export interface OpaquePart {
  /** A clause: "its name is known only when it runs". */
  readonly reason: string;
  readonly text: string;
  /** bash itself would not parse it, or this parser cannot: nothing about it can be decided. */
  readonly isUnreadable?: boolean;
}

export interface ParsedShell {
  readonly commands: readonly SimpleCommand[];
  /** What programs may run of what they are given, if they are of that kind: `unknown -- rm -rf x`. Judged, not shown. */
  readonly guessed: readonly SimpleCommand[];
  readonly opaque: readonly OpaquePart[];
}

/** A word whose value is known. */
export function knownWord(value: string, text: string = value): ShellWord {
  return { value, text, isDynamic: false, canSplit: false, isPattern: false };
}

/** One word, never several, of which only the beginning is known. */
export function dynamicWord(prefix: string, text: string): ShellWord {
  return { value: prefix, text, isDynamic: true, canSplit: false, isPattern: false };
}
