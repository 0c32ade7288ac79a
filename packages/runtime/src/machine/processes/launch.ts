import { closeSync } from "node:fs";
import { join } from "node:path";
import type { Command, CommandLimits } from "../../contract/processes.ts";
import { ToolError } from "../../protocol/errors.ts";
import { openHandle, realPathOf } from "../system/handle.ts";
import { asToolError } from "../system/system-error.ts";
import { anonymousFile } from "./anonymous-file.ts";
import type { PipePool } from "./output-pipes.ts";
import { prologueText } from "./prologue.ts";
import type { PrologueFacts } from "./prologue.ts";

/**
 * A channel whose other end only this process holds: it closes when this process exits, or when the command is killed.
 */
type Lifeline = "lifeline";

/** A command ready to be started, sandboxed or not. */
export interface Launch {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Path of bash. */
  readonly bash: string;
  /** The child's descriptors from 3 on. */
  readonly descriptors: readonly (number | Lifeline)[];
  /** The pipes of its output. */
  readonly pipes: PipePool;
  readonly sandbox: string;
  /** Parts of the roots that are too large to be searched for places to protect. */
  readonly left_out: number;
  /** Whether a package folder is read-only because this program loads code from it. */
  readonly packages_closed?: boolean;
  /** Private in-memory folders of the sandbox: their content counts as memory of the command. */
  readonly memory_folders: readonly string[];
  /** Receives the first process as soon as it exists. */
  started?(pid: number): void;
  /** Calls back if a protected file becomes exposed to the command because another process replaced it. */
  guard?(onOpened: (path: string) => void): () => void;
  /**
   * The first process inside the sandbox, which ends all others when it exits. Undefined without a sandbox, and until
   * it exists.
   */
  inner(): number | undefined;
  /** After the end: whether the command itself ever started. */
  wasBegun(): boolean;
  /** Closes what was opened for it. */
  close(): void;
}

/** Folder for small files that the runtime passes to its children. */
export function handoverFolder(state_dir: string): string {
  return join(state_dir, "sandbox");
}

/** Arguments of bash. `fd` is the descriptor of the prologue. */
export function bashArguments(run: Command["run"]): readonly string[] {
  const start = ["--noprofile", "--norc", "-c"];
  return typeof run === "string" ? [...start, run] : [...start, 'exec "$@"', "bash", ...run];
}

/** Each workspace has one or two at a time. The latest one is used immediately. */
const MAX_PROLOGUES = 8;

/** A cache of prologues, by their descriptor and content. */
export class Prologues {
  readonly #options: { readonly limits: CommandLimits; readonly folder: string };
  readonly #files = new Map<string, number>();

  constructor(options: { readonly limits: CommandLimits; readonly folder: string }) {
    this.#options = options;
  }

  get(facts: PrologueFacts): number {
    const key = JSON.stringify(facts);
    const known = this.#files.get(key);
    if (known !== undefined) return known;
    const { limits, folder } = this.#options;
    const file = anonymousFile(folder, Buffer.from(prologueText(limits, facts)));
    this.#files.set(key, file);
    for (const [oldest, old] of this.#files) {
      if (this.#files.size <= MAX_PROLOGUES) break;
      this.#files.delete(oldest);
      closeSync(old);
    }
    return file;
  }

  close(): void {
    for (const file of this.#files.values()) closeSync(file);
    this.#files.clear();
  }
}

/** Opens a checked folder and verifies that it is still the same. The caller closes it. */
export function openJudged(folder: string): number {
  let fd: number;
  try {
    fd = openHandle(folder);
  } catch (error) {
    throw asToolError(error, folder);
  }
  if (realPathOf(fd) === folder) return fd;
  closeSync(fd);
  throw new ToolError(
    "PathTraversalBlocked",
    `Cannot run a command in "${folder}": its target changed since it was checked`,
    { path: folder },
  );
}

export interface BareOptions {
  readonly bash: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly prologues: Prologues;
  readonly pipes: PipePool;
}

/** Without a sandbox: the command has all permissions of this user. */
export function bareLaunch(
  { run, cwd, environment: own }: Command,
  { bash, environment, prologues, pipes }: BareOptions,
): Launch {
  const folder = openJudged(cwd);
  return {
    program: bash,
    args: bashArguments(run),
    // By our pid: in the child, descriptors are moved before it changes its folder.
    cwd: `/proc/${process.pid}/fd/${folder}`,
    environment: { ...environment, ...own, BASH_ENV: "/dev/fd/3" },
    bash,
    descriptors: [prologues.get({ fd: 3 })],
    pipes,
    sandbox: "none",
    left_out: 0,
    memory_folders: [],
    inner: () => undefined,
    wasBegun: () => true,
    close: () => closeSync(folder),
  };
}
