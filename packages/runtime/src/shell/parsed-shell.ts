/** A word of a command as the shell would pass it. */
export interface ShellWord {
  /**
   * Its value; for a dynamic word, the text before the unknown part. The home folder is written `~`, and a name that
   * merely begins with that character `./~`.
   */
  readonly value: string;
  /** The source, for display. */
  readonly text: string;
  /** Its value is unknown before it runs. */
  readonly isDynamic: boolean;
  /** May expand to several words, or none. */
  readonly canSplit: boolean;
  /** Matches file names: an unquoted `*`, `?` or `[`. */
  readonly isPattern: boolean;
  /** For a process substitution, `<(echo text)`: what a program reads that opens it as a file. */
  readonly input?: Input;
}

/**
 * The standard input: nothing, a known text, or an unknown one. A foreign one comes from the network or a decoder.
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

/** The working folder of a command: after any `cd` before it, relative to the start. */
export interface ShellFolder {
  /** Undefined if unknown. */
  readonly path: string | undefined;
  /** Whether the preceding `cd` must have succeeded for the command to run. */
  readonly isCertain: boolean;
}

export interface SimpleCommand {
  /** Empty for assignments or redirections alone. */
  readonly words: readonly ShellWord[];
  readonly assignments: readonly ShellAssignment[];
  readonly redirections: readonly ShellRedirection[];
  readonly folder: ShellFolder;
  /** How it is reached, outermost first: "pipe", "substitution", "subshell", "function f", "loop", "sudo" … */
  readonly reached: readonly string[];
  /** Runs other commands, which are in the list too. */
  readonly isCarrier: boolean;
  /** Starts itself, or more and more processes without end. */
  readonly multiplies: boolean;
  /** For a command that another one may run: how certain that is. */
  readonly guess?: GuessKind;
}

/**
 * `likely`: after `--`, by its full path, or in an option that runs its value. `named`: a text in code or in a file
 * just written; most of those are never run.
 */
export type GuessKind = "likely" | "possible" | "named";

/** A part whose effect is unknown before it runs. */
export interface OpaquePart {
  /** A clause: "its name is known only when it runs". */
  readonly reason: string;
  readonly text: string;
  /** bash would not parse it, or this parser cannot: nothing about it can be decided. */
  readonly isUnreadable?: boolean;
}

export interface ParsedShell {
  readonly commands: readonly SimpleCommand[];
  /** What programs may run of their input, if they are of that kind: `unknown -- rm -rf x`. Judged, not shown. */
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
