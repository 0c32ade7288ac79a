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

/** A channel whose other end only this process has: it ends when the process does, or when the command is killed. */
type Lifeline = "lifeline";

/** A command ready to be started, sandboxed or not. */
export interface Launch {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Where bash is. */
  readonly bash: string;
  /** What the child gets as its descriptors 3 and up. */
  readonly descriptors: readonly (number | Lifeline)[];
  /** What its output comes through. */
  readonly pipes: PipePool;
  readonly sandbox: string;
  /** Parts of the roots that were too many to look through for what the sandbox has to close. */
  readonly left_out: number;
  /** Whether a folder of packages is read-only because this program loads what is in it. */
  readonly packages_closed?: boolean;
  /** Folders that are private inside, and in memory: what is in their files counts as the command's memory. */
  readonly memory_folders: readonly string[];
  /** Told its first process as soon as there is one. */
  started?(pid: number): void;
  /** Calls back when a protected file is exposed to the command, because another process replaced it. */
  guard?(onOpened: (path: string) => void): () => void;
  /** The first process inside the sandbox, whose end ends all others; undefined without one, and until it is there. */
  inner(): number | undefined;
  /** Asked when it has ended: whether the command itself was ever begun. */
  wasBegun(): boolean;
  /** Closes what was opened for it. */
  close(): void;
}

/** Where the runtime keeps small files for its children. */
export function handoverFolder(state_dir: string): string {
  return join(state_dir, "sandbox");
}

/** How bash is started. `fd` is the descriptor that has the prologue. */
export function bashArguments(run: Command["run"]): readonly string[] {
  const start = ["--noprofile", "--norc", "-c"];
  return typeof run === "string" ? [...start, run] : [...start, 'exec "$@"', "bash", ...run];
}

/** Each workspace has one or two at a time. The last one is in use until its command is spawned, at once. */
const MAX_PROLOGUES = 8;

/** Prologues by the descriptor that they are handed over as and what they start, each made once. */
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

/** Opens a folder that was judged, and makes sure that it still is the one. The caller closes it. */
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

/** Without a sandbox: the command may do whatever this user may. */
export function bareLaunch(
  { run, cwd, environment: own }: Command,
  { bash, environment, prologues, pipes }: BareOptions,
): Launch {
  const folder = openJudged(cwd);
  return {
    program: bash,
    args: bashArguments(run),
    // By the number of this process: in the child, descriptors are moved before it changes its folder.
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
