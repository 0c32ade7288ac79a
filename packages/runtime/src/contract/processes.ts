import type { CommandChanges, ChangeDetector } from "./command-changes.ts";

/** Resource limits of a command. When one is reached, the command is killed. */
export interface CommandLimits {
  /** For the entire process tree. */
  readonly memory_bytes: number;
  /** Concurrent processes in the tree. */
  readonly processes: number;
  /** Size limit per written file. */
  readonly file_bytes: number;
  /** Open files per process. */
  readonly open_files: number;
}

/**
 * `none`: only unix sockets. `loopback`: the sandbox's own loopback interface. `allowlist`: loopback with a proxy that
 * passes allowlisted hosts. Without a sandbox `allowlist` is refused and the others have no effect.
 */
type CommandNetwork = "none" | "loopback" | "allowlist";

/** Which files that run later (hooks, startup files) a command may change. In a sandbox all others are read-only. */
export interface OpenedPlaces {
  /**
   * `settings`: git's configuration, with hooks disabled. `work`: the same, as long as no repository below the roots
   * runs anything through hooks or configuration. `all`: hooks too, because a person approved it.
   */
  readonly git?: "settings" | "work" | "all";
  /** Everything below these paths, and the folders that contain them. */
  readonly paths: readonly string[];
  /** All files that run later, except git's and this program's own: the call requested it and a person approved it. */
  readonly later?: boolean;
}

/**
 * Applies path rules below the roots, in addition to the built-in tables: `hide` if nothing there may be read,
 * `read_only` if it may not be changed. Called for each folder and file, from the roots down, but not below a closed
 * path.
 */
export interface PlaceJudge {
  /** Cache key: differs whenever the answers differ. */
  readonly key: string;
  judge(real: string, isFolder: boolean): "hide" | "read_only" | undefined;
  /** Whether the path may be neither read nor written: a command that can access it anyway is stopped. */
  forbids(real: string, isFolder: boolean): boolean;
  /** Whether anything below a folder could be closed. Called for folders that are not scanned otherwise. */
  mayCloseBelow(folder: string): boolean;
}

export interface Command {
  /** A bash command line, or the absolute path of a program with its arguments. */
  readonly run: string | readonly [program: string, ...args: string[]];
  /** Real path of the folder to run in, already evaluated. */
  readonly cwd: string;
  /** Writable folders in addition to the roots: real paths, already evaluated. */
  readonly writable?: readonly string[];
  /** Additional environment variables. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Default: nothing. Ignored while another command runs, because that one would get the access too. */
  readonly opens?: OpenedPlaces;
  /** Paths below the roots that rules close, in addition to the tables. Enforced only in a sandbox. */
  readonly closes?: PlaceJudge;
  /** Known to write nothing: the sandbox mounts the roots read-only. */
  readonly read_only?: boolean;
  readonly network?: CommandNetwork;
}

export type OutputStream = "stdout" | "stderr";

export interface CommandOptions {
  readonly timeout_ms: number;
  /** When aborted, the command is killed as on a timeout. */
  readonly signal: AbortSignal;
  /** Receives output as it arrives; it is not stored otherwise. Must not throw. */
  readonly onOutput?: (stream: OutputStream, piece: Buffer) => void;
}

/** The limit that a command exceeded. */
export interface LimitReached {
  readonly limit: "memory" | "processes";
  readonly allowed: number;
  readonly found: number;
}

export interface CommandEnd {
  /** As in shells: 128 plus the signal number if a signal ended it. */
  readonly exit_code: number;
  readonly signal: string | null;
  readonly ended_by: "itself" | "timeout" | "cancel" | "limit";
  readonly limit_reached?: LimitReached;
  /**
   * The command was stopped because this path was no longer protected: another process replaced a protected file, or a
   * path appeared that a rule hides.
   */
  readonly unprotected?: string;
  readonly duration_ms: number;
  /** The name of the sandbox it ran in, or "none". */
  readonly sandbox: string;
  /**
   * Set if the roots were too large to scan for everything that the sandbox closes: number of skipped folders and
   * files.
   */
  readonly left_out_places?: number;
  /** Set if a `node_modules` was read-only because this program loads modules from it. */
  readonly packages_closed?: true;
}

/** Redacts command output before it is stored. */
export interface OutputRedactor {
  text(text: string): string;
  /** A redactor for one stream. */
  stream(): { push(piece: Uint8Array): Uint8Array; end(): Uint8Array };
}

/** `lost`: it died with the worker that started it, and its exit status is unknown. */
type BackgroundState = "running" | "exited" | "stopped" | "failed" | "lost";

export interface BackgroundFacts {
  readonly background_id: string;
  readonly state: BackgroundState;
  readonly pid: number;
  readonly run: Command["run"];
  readonly cwd: string;
  readonly sandbox: string;
  readonly started_at: string;
  readonly ended_at?: string;
  readonly exit_code?: number;
  readonly signal?: string;
  /** The limit that ended it. */
  readonly limit_reached?: LimitReached;
  /** It was stopped because of this path, see `CommandEnd`. */
  readonly unprotected?: string;
  /** Part of the output could not be stored. */
  readonly log_cut?: boolean;
  /** Its changes, determined after it ended. Omitted if it never ran, is running, or the changes are unknown. */
  readonly changes?: CommandChanges;
  /** Why the changes are unknown: a clause. */
  readonly changes_problem?: string;
}

export interface BackgroundOutput {
  readonly facts: BackgroundFacts;
  /** From the requested position, or from the first byte still stored. */
  readonly output: Buffer;
  /** Bytes after the requested position that are no longer stored. */
  readonly skipped: number;
  /** Position of the next read. */
  readonly position: number;
}

/** Commands that keep running after the call that started them. They end with this process. */
export interface Background {
  /** `detection` is queried when it has ended. */
  start(command: Command, detection?: ChangeDetector): Promise<BackgroundFacts>;
  /** Waits up to `wait_ms` for new output or for the end. Throws `NotFound`. */
  output(
    background_id: string,
    options: { position: number; wait_ms: number; signal: AbortSignal },
  ): Promise<BackgroundOutput>;
  /** Kills the entire process tree. Resolves when all of it is gone. Throws `NotFound`. */
  stop(background_id: string): Promise<BackgroundFacts>;
  list(): readonly BackgroundFacts[];
}

/** A command of a call: its folder is the path that the call declared. */
interface CallCommand extends Omit<Command, "cwd" | "writable" | "opens" | "closes" | "read_only"> {
  readonly workdir: string;
}

/** How a command ended, with what was observed while it ran. */
export interface WatchedEnd extends CommandEnd {
  readonly changes: CommandChanges;
  /** Hosts that it connected to, if it had network access. */
  readonly connections: readonly { readonly host: string; readonly port: number; readonly allowed: boolean }[];
}

/** Commands that this call may run: the folder is verified before they start. */
export interface CallProcesses {
  /** Reports its changes below the roots when it ends. */
  run(command: CallCommand, options: CommandOptions): Promise<WatchedEnd>;
  /** Starts a command that keeps running after the call. */
  start(command: CallCommand): Promise<BackgroundFacts>;
  /** See `Background`. */
  output(...given: Parameters<Background["output"]>): Promise<BackgroundOutput>;
  stop(background_id: string): Promise<BackgroundFacts>;
  list(): Promise<readonly BackgroundFacts[]>;
  /** Default timeout of a command. */
  readonly timeout_ms: number;
  /** Default timeout of a skill script. */
  readonly script_timeout_ms: number;
}
