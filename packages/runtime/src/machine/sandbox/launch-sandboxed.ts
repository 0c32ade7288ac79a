import { closeSync, constants, fstatSync, mkdirSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "../../contract/processes.ts";
import { anonymousFile, reopen } from "../processes/anonymous-file.ts";
import type { CommandEnvironment } from "../processes/environment.ts";
import { bashArguments, openJudged } from "../processes/launch.ts";
import type { Launch, Prologues } from "../processes/launch.ts";
import type { PipePool } from "../processes/output-pipes.ts";
import { bwrapArguments, foldersInMemory } from "./bwrap.ts";
import type { PlaceFinder } from "./find-places.ts";
import { openPlaces } from "./open-places.ts";
import { PROXY_VARIABLES, relayLines } from "./relay.ts";
import { seccompProgram } from "./seccomp.ts";
import type { Architecture, Sockets } from "./seccomp.ts";

/** Descriptors of the sandbox program. The prologue comes last. */
const SECCOMP_FD = 3;
const STATUS_FD = 4;
const LIFELINE_FD = 5;
const READY_FD = 6;
/** It tells two short lines. */
const STATUS_BYTES = 1024;

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
  readonly finder: PlaceFinder;
  readonly environment: CommandEnvironment;
  readonly prologues: Prologues;
  readonly pipes: PipePool;
  /** Whether it can bound what a folder in memory takes: bwrap from 0.7 on. */
  readonly has_sizes: boolean;
  /** That a command may take. */
  readonly memory_bytes: number;
  /** For files that are handed to children. */
  readonly folder: string;
  /** What is `/tmp` inside. Left out: an empty one in memory for each command. */
  readonly tmp?: string;
}

/** What every command in the same sandbox shares, made once. */
export class SandboxLauncher {
  readonly #parts: SandboxParts;
  readonly #filters = new Map<Sockets, number>();
  #closedFile: string | undefined;
  /** Commands that were launched and have not ended. */
  #running = 0;

  constructor(parts: SandboxParts) {
    this.#parts = parts;
  }

  /** `proxy_socket`: the real path where a proxy listens for this command, the way out that it gets. */
  launch(command: Command, proxy_socket?: string): Launch {
    const parts = this.#parts;
    closeSync(openJudged(command.cwd));
    // Whoever replaces a file from elsewhere takes away what keeps it read-only for the commands that run already.
    const opens = this.#running === 0 ? command.opens : undefined;
    const { found, variables } = openPlaces(parts.finder.find(), opens, parts);
    const args = bwrapArguments({
      ...found,
      roots: parts.roots,
      cwd: command.cwd,
      writable: command.writable ?? [],
      ...(parts.tmp === undefined ? {} : { tmp: parts.tmp }),
      has_sizes: parts.has_sizes,
      memory_bytes: parts.memory_bytes,
      closed_file: (this.#closedFile ??= makeClosedFile(parts.folder)),
      variables: { ...parts.environment.inside_only, ...variables },
      ...(proxy_socket === undefined ? {} : { way_out: { socket: proxy_socket, program: process.execPath } }),
      seccomp_fd: SECCOMP_FD,
      status_fd: STATUS_FD,
    });
    const hasWayOut = proxy_socket !== undefined;
    const prologueFd = hasWayOut ? READY_FD + 1 : READY_FD;
    const helper = hasWayOut ? relayLines({ program: process.execPath, ready_fd: READY_FD }) : [];
    const prologue = parts.prologues.get({ fd: prologueFd, lifeline_fd: LIFELINE_FD, helper });
    const filter = reopen(this.#filter(SOCKETS[command.network ?? "none"]));
    const status = anonymousFile(parts.folder, Buffer.alloc(0));
    const ready = hasWayOut ? [anonymousFile(parts.folder, Buffer.alloc(0))] : [];
    this.#running++;
    return {
      program: parts.bwrap,
      args: [...args, "--", parts.bash, ...bashArguments(command.run)],
      cwd: "/",
      environment: {
        ...parts.environment.variables,
        ...(hasWayOut ? PROXY_VARIABLES : {}),
        BASH_ENV: `/dev/fd/${prologueFd}`,
      },
      descriptors: [filter, status, "lifeline", ...ready, prologue],
      pipes: parts.pipes,
      sandbox: "bwrap",
      left_out: found.left_out,
      memory_folders: foldersInMemory(parts),
      inner: () => numberIn(status, /"child-pid": (\d+)/),
      // Told only for a command that was really executed, not where the sandbox itself or its way out failed.
      wasBegun: () =>
        numberIn(status, /"exit-code": (\d+)/) !== undefined && ready.every((fd) => fstatSync(fd).size > 0),
      close: () => {
        this.#running--;
        for (const fd of [filter, status, ...ready]) closeSync(fd);
      },
    };
  }

  close(): void {
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

/** An empty file that stands for hidden ones. Its owner is whoever runs commands, so the mode alone closes it. */
function makeClosedFile(folder: string): string {
  const path = join(folder, "closed");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  try {
    closeSync(openSync(path, constants.O_RDONLY | constants.O_CREAT | constants.O_EXCL, 0o000));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error; // made by a runtime before us
  }
  return path;
}

function numberIn(status: number, pattern: RegExp): number | undefined {
  const bytes = Buffer.alloc(STATUS_BYTES);
  const length = readSync(status, bytes, 0, STATUS_BYTES, 0);
  const found = pattern.exec(bytes.toString("latin1", 0, length))?.[1];
  return found === undefined ? undefined : Number(found);
}
