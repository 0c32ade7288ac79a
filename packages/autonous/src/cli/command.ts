import type { ExitCode } from "./exit-codes.ts";
import type { Print } from "./output/print.ts";

/** The input of a command. */
export interface CommandInput {
  readonly args: readonly string[];
  readonly options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>;
  readonly print: Print;
  /** Aborted by Ctrl-C, by SIGTERM, and when the output can no longer be written. */
  readonly signal: AbortSignal;
  /**
   * For a command that can stop a part of its work: called on each Ctrl-C; `true` means that it was handled.
   * Returns a function that unregisters the handler.
   */
  readonly onInterrupt: (take: () => boolean) => () => void;
}

type RunCommand = (input: CommandInput) => Promise<ExitCode>;

/** An argument or an option: syntax and meaning. */
export interface Parameter {
  readonly name: string;
  readonly meaning: string;
  /** A short form such as `-f`, for frequent options. */
  readonly short?: string;
  /** The option may be repeated; its value is a list. */
  readonly repeatable?: boolean;
  /** The allowed values, also used for shell completion. */
  readonly choices?: readonly string[];
}

/** The declaration of a command. Its module is loaded only when it runs. */
export interface Command {
  /** `call`, or `audit verify` for a command of a group. */
  readonly name: string;
  readonly summary: string;
  /** `<needed>` or `[optional]`. */
  readonly args?: readonly Parameter[];
  /** `--flag` or `--flag <value>`. Every command also has `--json`. */
  readonly options?: readonly Parameter[];
  /** Works on a workspace: also takes `--root`, `--state-dir` and `--profile`. */
  readonly workspace?: boolean;
  /** May ask the user at the terminal: also takes `--non-interactive`. */
  readonly attended?: boolean;
  readonly example: string;
  /** The last lines of its help. */
  readonly notes?: readonly string[];
  load(): Promise<RunCommand>;
}

/** Invalid usage of a command. */
export class UsageError extends Error {
  /** Shown to people instead of the message. */
  readonly help: string | undefined;

  constructor(message: string, help?: string) {
    super(message);
    this.name = "UsageError";
    this.help = help;
  }
}
