import { closeSync, constants, existsSync, mkdirSync, openSync } from "node:fs";
import { join } from "node:path";
import type { Command, PlaceJudge } from "../../contract/processes.ts";
import { isInside } from "../../paths/inside.ts";
import { ToolError } from "../../protocol/errors.ts";
import { anonymousFile, reopen } from "../processes/anonymous-file.ts";
import type { CommandEnvironment } from "../processes/environment.ts";
import { bashArguments, openJudged } from "../processes/launch.ts";
import type { Launch, Prologues } from "../processes/launch.ts";
import { suspendMovers, registerMover } from "../processes/suspend-movers.ts";
import type { PipePool } from "../processes/output-pipes.ts";
import { bwrapArguments, foldersInMemory, sandboxHome } from "./bwrap.ts";
import type { SandboxFacts } from "./bwrap.ts";
import { checkInside } from "./check-inside.ts";
import type { InsideCheck } from "./check-inside.ts";
import type { PlaceFinder } from "./find-places.ts";
import type { GitIdentity } from "./git-identity.ts";
import { KnownFolders } from "./known-folders.ts";
import { writableMounts } from "./old-root.ts";
import { openPlaces } from "./open-places.ts";
import { closedPackages, openCaches } from "./writable-caches.ts";
import { inodeOf, PlaceGuard } from "./place-guard.ts";
import type { GuardedPlaces } from "./place-guard.ts";
import { PROXY_VARIABLES, relayLines } from "./relay.ts";
import { seccompProgram } from "./seccomp.ts";
import type { Architecture, Sockets } from "./seccomp.ts";
import { gateOf, heldUntilBegun, isReady, numberIn, statusFile } from "./status-file.ts";
import type { MachineView } from "./machine-view.ts";

/** Descriptors of the sandbox program. Those of the check follow, and the prologue comes last. */
const SECCOMP_FD = 3;
const STATUS_FD = 4;
const LIFELINE_FD = 5;
const STATUS_INSIDE_FD = 6;
const CHECK_FD = 7;
/** How often the search for protected paths is repeated when one moves before it could be opened. */
const LOOKS = 8;

const SOCKETS = {
  none: "unix",
  loopback: "internet",
  allowlist: "internet",
} as const satisfies Record<NonNullable<Command["network"]>, Sockets>;

export interface SandboxParts {
  readonly bwrap: string;
  readonly bash: string;
  readonly architecture: Architecture;
  readonly roots: readonly string[];
  readonly view: MachineView;
  readonly finder: PlaceFinder;
  readonly identity: GitIdentity;
  readonly environment: CommandEnvironment;
  readonly prologues: Prologues;
  readonly pipes: PipePool;
  /** Whether bwrap can limit the size of a folder in memory: from 0.7 on. */
  readonly has_sizes: boolean;
  /** Memory limit of a command. */
  readonly memory_bytes: number;
  /** Folder for files that are passed to children. */
  readonly folder: string;
  /** The folder that is `/tmp` inside. Default: an empty one in memory per command. */
  readonly tmp?: string;
}

/** What all commands in the same sandbox share, created once. */
export class SandboxLauncher {
  readonly #parts: SandboxParts;
  readonly #filters = new Map<Sockets, number>();
  readonly #known = new KnownFolders();
  readonly #guard = new PlaceGuard();
  #closed: SandboxFacts["closed"] | undefined;
  /** Number of running commands. */
  #running = 0;

  constructor(parts: SandboxParts) {
    this.#parts = parts;
  }

  /** `proxy_socket`: the real path where a proxy listens for this command: its only network access. */
  launch(command: Command, proxy_socket?: string): Launch {
    closeSync(openJudged(command.cwd));
    // With read-only roots, mount points that bubblewrap creates cannot damage anything in them.
    const release = command.read_only === true ? undefined : suspendMovers(this.#parts.roots);
    try {
      const { launch, status } = this.#make(command, proxy_socket);
      return release === undefined ? launch : heldUntilBegun(launch, { status, release });
    } catch (error) {
      release?.();
      throw error;
    }
  }

  #make(command: Command, proxy_socket: string | undefined): { readonly launch: Launch; readonly status: number } {
    const parts = this.#parts;
    const { facts, check, left_out, watched, packages_closed } = this.#prepare(command, proxy_socket);
    const hasWayOut = proxy_socket !== undefined;
    const prologueFd = CHECK_FD + check.descriptors.length;
    const prologue = parts.prologues.get({
      fd: prologueFd,
      lifeline_fd: LIFELINE_FD,
      checks: check.lines,
      check_fds: check.descriptors.map((_, at) => CHECK_FD + at),
      helper: hasWayOut ? relayLines({ program: process.execPath, status_fd: STATUS_INSIDE_FD }) : [],
      status_fd: STATUS_INSIDE_FD,
    });
    // Set inside only: no earlier shell must run it.
    const variables = { ...facts.variables, BASH_ENV: `/dev/fd/${prologueFd}` };
    const filter = reopen(this.#filter(SOCKETS[command.network ?? "none"]));
    const status = statusFile(parts.folder);
    const guarded = guardedOf(facts, { watched, closes: command.closes });
    const mover = facts.writes ? registerMover(parts.roots, gateOf(status)) : undefined;
    this.#running++;
    const launch: Launch = {
      program: parts.bwrap,
      args: [...bwrapArguments({ ...facts, variables }), "--", parts.bash, ...bashArguments(command.run)],
      cwd: "/",
      environment: {
        ...parts.environment.variables,
        ...(hasWayOut ? PROXY_VARIABLES : {}),
      },
      bash: parts.bash,
      // The sandbox program and the shell in it report their progress to the same file.
      descriptors: [filter, status, "lifeline", status, ...check.descriptors, prologue],
      pipes: parts.pipes,
      sandbox: "bwrap",
      left_out,
      packages_closed,
      memory_folders: foldersInMemory(parts),
      started: (pid) => mover?.started(pid),
      guard: (onOpened) => this.#guard.watch(guarded, onOpened),
      inner: () => numberIn(status, /"child-pid": (\d+)/),
      // True only for a command that was executed, not where the sandbox, its check or the relay failed.
      wasBegun: () => numberIn(status, /"exit-code": (\d+)/) !== undefined && isReady(status),
      close: () => {
        this.#running--;
        mover?.end();
        for (const fd of [filter, status]) closeSync(fd);
      },
    };
    return { launch, status };
  }

  /** Searches for paths to protect and opens their folders. Repeats where one has moved meanwhile. */
  #prepare(command: Command, proxy_socket: string | undefined): PreparedSandbox {
    const moved = new Set<string>();
    for (let left = LOOKS - 1; ; left--) {
      try {
        const prepared = this.#factsFor(command, proxy_socket, [...moved]);
        const open = (path: string): number => this.#known.open(path);
        const check = checkInside(prepared.facts, { first_fd: CHECK_FD, open });
        const missing = this.#missing(prepared.facts, check);
        if (missing === undefined) return { ...prepared, check };
        moved.add(missing);
        if (left === 0) throw alwaysMoving(missing);
      } catch (error) {
        if (!(error instanceof ToolError) || !MOVED_CODES.has(error.code)) throw error;
        if (left === 0) throw alwaysMoving(error.message);
      }
    }
  }

  /** A folder with protected paths that still exists, but that this search did not find. */
  #missing({ roots, hidden, read_only }: SandboxFacts, { descriptors }: InsideCheck): string | undefined {
    const { finder } = this.#parts;
    const closed = [...hidden.map(({ path }) => path), ...read_only];
    return this.#known.missing({
      roots,
      used: new Set(descriptors),
      wasSeen: (path, ino) => finder.saw(path, ino) || closed.some((each) => isInside(each, path)),
    });
  }

  #factsFor(
    command: Command,
    proxy_socket: string | undefined,
    moved: readonly string[],
  ): Omit<PreparedSandbox, "check"> {
    const parts = this.#parts;
    // Replacing a file from outside removes the mount that keeps it read-only for commands that already run.
    const opens = this.#running === 0 ? command.opens : undefined;
    const places = parts.finder.find(command.closes, moved);
    const ground = { roots: parts.roots, git_places: parts.finder.gitPlaces };
    const { found, variables } = openPlaces(places, opens, { ...parts, ...ground });
    const identity = parts.identity.get();
    const isSeen = parts.view.shows(parts.bash) || parts.roots.some((root) => isInside(root, parts.bash));
    const { ruled, watched, ...closed } = found;
    const facts: SandboxFacts = {
      ...closed,
      read_only: [...found.read_only, ...ruled],
      opened: openCaches(found, ground),
      roots: parts.roots,
      writes: command.read_only !== true,
      cwd: command.cwd,
      view: parts.view.mounts({ packages: proxy_socket === undefined }),
      old_mounts: writableMounts(),
      writable: command.writable ?? [],
      files: [...identity.files, ...(isSeen ? [] : [{ source: parts.bash, path: parts.bash }])],
      ...(parts.tmp === undefined ? {} : { tmp: parts.tmp }),
      has_sizes: parts.has_sizes,
      memory_bytes: parts.memory_bytes,
      closed: (this.#closed ??= makeClosed(parts.folder)),
      variables: {
        ...(proxy_socket === undefined
          ? parts.view.offlineVariables(sandboxHome(parts.roots), parts.environment.variables)
          : {}),
        ...parts.environment.inside_only,
        ...identity.variables,
        ...(command.read_only === true ? READ_ONLY_VARIABLES : {}),
        ...command.environment,
        ...variables,
      },
      ...(proxy_socket === undefined ? {} : { way_out: { socket: proxy_socket, program: process.execPath } }),
      seccomp_fd: SECCOMP_FD,
      status_fd: STATUS_FD,
    };
    const packages_closed = facts.writes && closedPackages(found, ground).length > 0;
    return { facts, left_out: found.left_out, watched, packages_closed };
  }

  close(): void {
    this.#known.close();
    this.#guard.close();
    for (const fd of this.#filters.values()) closeSync(fd);
    this.#filters.clear();
  }

  #filter(sockets: Sockets): number {
    const known = this.#filters.get(sockets);
    if (known !== undefined) return known;
    const fd = anonymousFile(this.#parts.folder, seccompProgram(this.#parts.architecture, sockets));
    this.#filters.set(sockets, fd);
    return fd;
  }
}

interface PreparedSandbox {
  readonly facts: SandboxFacts;
  readonly check: InsideCheck;
  readonly left_out: number;
  readonly packages_closed: boolean;
  readonly watched: readonly string[];
}

/** Paths that another process must not replace, and folders in which a rule may close new entries. */
function guardedOf(
  { hidden, read_only, writes }: SandboxFacts,
  { watched, closes }: { readonly watched: readonly string[]; readonly closes: PlaceJudge | undefined },
): GuardedPlaces {
  const closed = new Set(hidden.map(({ path }) => path));
  const inodes = new Map<string, bigint>();
  for (const path of [...closed, ...(writes ? read_only : [])]) {
    const inode = inodeOf(path);
    if (inode !== undefined) inodes.set(path, inode);
  }
  return { inodes, folders: watched, closed, ...(closes === undefined ? {} : { closes }) };
}

/** Git must not try to refresh its index, which is optional, in a read-only sandbox. */
const READ_ONLY_VARIABLES: Readonly<Record<string, string>> = { GIT_OPTIONAL_LOCKS: "0" };

/** Errors of opening a folder that is no longer where it was found. */
const MOVED_CODES: ReadonlySet<string> = new Set(["PathTraversalBlocked", "NotFound"]);

function alwaysMoving(where: string): ToolError {
  return new ToolError(
    "SandboxUnavailable",
    `Cannot run the command: folders that the sandbox protects are being moved (${where})`,
    { hint: "Another command is moving files. Stop it or wait for it, then retry." },
  );
}

/**
 * An empty file and an empty folder that are mounted over hidden ones. The user who runs commands owns them, so only
 * the mode makes the file unreadable.
 */
function makeClosed(handover: string): SandboxFacts["closed"] {
  const closed = { file: join(handover, "closed"), folder: join(handover, "closed-folder") };
  mkdirSync(handover, { recursive: true, mode: 0o700 });
  if (!existsSync(closed.folder)) mkdirSync(closed.folder, { recursive: true, mode: 0o555 });
  try {
    closeSync(openSync(closed.file, constants.O_RDONLY | constants.O_CREAT | constants.O_EXCL, 0o000));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error; // created by an earlier runtime
  }
  return closed;
}
