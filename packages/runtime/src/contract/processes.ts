import type { CommandChanges, CommandLook } from "./command-changes.ts";

/** Which processes a command may become, and how much of the machine they may take. Reached: it is ended. */
export interface CommandLimits {
  /** Of the whole tree of processes. */
  readonly memory_bytes: number;
  /** In the tree at once. */
  readonly processes: number;
  /** Of one file that it writes. */
  readonly file_bytes: number;
  /** In one process at once. */
  readonly open_files: number;
}

/**
 * `none`: no socket but unix ones. `loopback`: the sandbox's own, which leads nowhere else. `allowlist`: that one, with a
 * proxy on it that lets through what the allowlist names. Without a sandbox `allowlist` is refused, the others have no
 * effect.
 */
type CommandNetwork = "none" | "loopback" | "allowlist";

/** What of the files that run later a command may change. The rest is read-only for it in a sandbox. */
export interface OpenedPlaces {
  /**
   * `settings`: git's configuration, without hooks being run. `work`: the same, as long as no repository below the roots
   * runs anything by its hooks or configuration. `all`: hooks as well, because a person said yes.
   */
  readonly git?: "settings" | "work" | "all";
  /** What lies below these paths, and what they lie in. */
  readonly paths: readonly string[];
  /** Every file that runs later, but for git's own and this program: the call asked for it, and a person said yes. */
  readonly later?: boolean;
}

/**
 * What rules say of paths below the roots, besides the tables: `hide` where nothing in it may be read, `read_only` where
 * it may not be changed. Asked for every folder and file, from the roots down; not asked below what it closes.
 */
export interface PlaceJudge {
  /** Differs where the answers differ: answers are remembered by it. */
  readonly key: string;
  judge(real: string, isFolder: boolean): "hide" | "read_only" | undefined;
  /** Whether it may be neither read nor written: a command that has it all the same is stopped. */
  forbids(real: string, isFolder: boolean): boolean;
  /** Whether something below a folder could be closed. Asked for folders that are not looked through otherwise. */
  mayCloseBelow(folder: string): boolean;
}

export interface Command {
  /** Text for bash, or a program by its absolute path with its arguments. */
  readonly run: string | readonly [program: string, ...args: string[]];
  /** Real path of the folder to run in, already judged. */
  readonly cwd: string;
  /** Writable folders besides the roots: real paths, already judged. */
  readonly writable?: readonly string[];
  /** Variables for it besides the usual ones. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Left out: nothing. Ignored while another command runs, for which they would be open then as well. */
  readonly opens?: OpenedPlaces;
  /** What rules close of the roots besides the tables. Only a sandbox keeps to it. */
  readonly closes?: PlaceJudge;
  /** It is known to write nothing: in a sandbox the roots are mounted read-only for it. */
  readonly read_only?: boolean;
  readonly network?: CommandNetwork;
}

export type OutputStream = "stdout" | "stderr";

export interface CommandOptions {
  readonly timeout_ms: number;
  /** Aborted: the command is ended like one that took too long. */
  readonly signal: AbortSignal;
  /** What it prints, as it comes; nothing is kept of it otherwise. Must not throw. */
  readonly onOutput?: (stream: OutputStream, piece: Buffer) => void;
}

/** What a command went over. */
export interface LimitReached {
  readonly limit: "memory" | "processes";
  readonly allowed: number;
  readonly found: number;
}

export interface CommandEnd {
  /** As shells have it: 128 and the signal's number where a signal ended it. */
  readonly exit_code: number;
  readonly signal: string | null;
  readonly ended_by: "itself" | "timeout" | "cancel" | "limit";
  readonly limit_reached?: LimitReached;
  /**
   * It was stopped because this path was not protected any more: a protected file was replaced by another process, or
   * something appeared that a rule hides.
   */
  readonly unprotected?: string;
  readonly duration_ms: number;
  /** The name of the sandbox it ran in, or "none". */
  readonly sandbox: string;
  /** Set where the roots were too large to look through for all that the sandbox closes: folders and places left out. */
  readonly left_out_places?: number;
  /** Set where a `node_modules` was read-only because this program loads what is in it. */
  readonly packages_closed?: true;
}

/** Takes secrets out of what a command prints before it is stored. */
export interface OutputRedactor {
  text(text: string): string;
  /** For one stream. */
  stream(): { push(piece: Uint8Array): Uint8Array; end(): Uint8Array };
}

/** `lost`: it died with the worker that started it, and nobody knows how it ended. */
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
  /** Why it was ended, where that was not asked for. */
  readonly limit_reached?: LimitReached;
  /** It was stopped because of this path, see `CommandEnd`. */
  readonly unprotected?: string;
  /** Not all of its output could be written down. */
  readonly log_cut?: boolean;
  /** What it changed, found when it had ended. Left out where it never ran, while it runs, and where nobody knows. */
  readonly changes?: CommandChanges;
  /** Why nobody knows: a clause. */
  readonly changes_problem?: string;
}

export interface BackgroundOutput {
  readonly facts: BackgroundFacts;
  /** From the position that was asked for on, or from the first one still kept. */
  readonly output: Buffer;
  /** Bytes after the position asked for that are no longer kept. */
  readonly skipped: number;
  /** Where to read on. */
  readonly position: number;
}

/** Commands that go on after the call that started them. They end with this process. */
export interface Background {
  /** `look` is asked when it has ended. */
  start(command: Command, look?: CommandLook): Promise<BackgroundFacts>;
  /** Waits up to `wait_ms` for something new, or for the end. Throws `NotFound`. */
  output(
    background_id: string,
    options: { position: number; wait_ms: number; signal: AbortSignal },
  ): Promise<BackgroundOutput>;
  /** Ends the whole tree. Resolves when nothing of it is left. Throws `NotFound`. */
  stop(background_id: string): Promise<BackgroundFacts>;
  list(): readonly BackgroundFacts[];
}

/** A command of a call: its folder by the path that the call declared. */
interface CallCommand extends Omit<Command, "cwd" | "writable" | "opens" | "closes" | "read_only"> {
  readonly workdir: string;
}

/** How a command ended, and what was seen of it meanwhile. */
export interface WatchedEnd extends CommandEnd {
  readonly changes: CommandChanges;
  /** Whom it asked over the network, as far as it has one. */
  readonly connections: readonly { readonly host: string; readonly port: number; readonly allowed: boolean }[];
}

/** Commands, as far as this call was allowed to run them: the folder is verified before they start. */
export interface CallProcesses {
  /** What it did to the files below the roots is told with its end. */
  run(command: CallCommand, options: CommandOptions): Promise<WatchedEnd>;
  /** Starts one that goes on after the call. */
  start(command: CallCommand): Promise<BackgroundFacts>;
  /** See `Background`. */
  output(...given: Parameters<Background["output"]>): Promise<BackgroundOutput>;
  stop(background_id: string): Promise<BackgroundFacts>;
  list(): Promise<readonly BackgroundFacts[]>;
  /** How long a command may take where the call does not say. */
  readonly timeout_ms: number;
  /** The same for a script of a skill. */
  readonly script_timeout_ms: number;
}
