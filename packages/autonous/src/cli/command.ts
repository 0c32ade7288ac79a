import type { ExitCode } from "./exit-codes.ts";
import type { Print } from "./output/print.ts";

/** What a command is given. */
export interface CommandInput {
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
  readonly print: Print;
  /** Aborted by Ctrl-C and SIGTERM, and when nobody can read the output any more. */
  readonly signal: AbortSignal;
  /**
   * For a command that has something smaller to stop: asked at each Ctrl-C, and where it gives `true` that was all.
   * Gives what ends it.
   */
  readonly onInterrupt: (take: () => boolean) => () => void;
}

type RunCommand = (input: CommandInput) => Promise<ExitCode>;

/** An argument or an option, as it is written and what it is for. */
export interface Parameter {
  readonly name: string;
  readonly meaning: string;
  /** `-f`, for an option that is given often. */
  readonly short?: string;
  /** An option that may be given several times; its value is a list. */
  readonly repeatable?: boolean;
  /** The only values that it takes: shells offer them. */
  readonly choices?: readonly string[];
}

/** What a command declares. Its module is loaded only when it is used. */
export interface Command {
  /** `call`, or `audit verify` for a command of a group. */
  readonly name: string;
  readonly summary: string;
  /** `<needed>` or `[optional]`. */
  readonly args?: readonly Parameter[];
  /** `--flag`, or `--flag <value>`. Every command has `--json` beside these. */
  readonly options?: readonly Parameter[];
  /** Works on a workspace: takes `--root`, `--state-dir` and `--profile` too. */
  readonly workspace?: boolean;
  /** May ask the person at the terminal: takes `--non-interactive` too. */
  readonly attended?: boolean;
  readonly example: string;
  /** What its help says last, line by line. */
  readonly notes?: readonly string[];
  load(): Promise<RunCommand>;
}

/** The command was used in a way that cannot be right. */
export class UsageError extends Error {
  /** What people get to see in the place of the message. */
  readonly help: string | undefined;

  constructor(message: string, help?: string) {
    super(message);
    this.name = "UsageError";
    this.help = help;
  }
}
