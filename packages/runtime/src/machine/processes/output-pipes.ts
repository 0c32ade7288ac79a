import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, constants, existsSync, mkdirSync, openSync, unlinkSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { openHandle, procPath } from "../system/handle.ts";

/** A kernel pipe. Node.js creates sockets for a child, and `> /dev/stderr` cannot open those. */
export interface OutputPipe {
  /** The child's end. */
  readonly writer: number;
  readonly output: Readable;
  /** Stops reading. */
  release(): void;
}

/** Paths of mkfifo: Node.js cannot create a pipe. */
const MAKERS = ["/usr/bin/mkfifo", "/bin/mkfifo"] as const;
/** One process creates this many: that costs half a millisecond per command, which needs two. */
const MADE_AT_ONCE = 32;

/**
 * Unnamed pipes for the output of commands. Each is used once: a command can keep a hidden handle of its pipe
 * (`O_PATH`, a read end), reopen it for writing later, and forge output of the next command.
 */
export class PipePool {
  readonly #folder: string;
  readonly #maker: string | undefined;
  /** `O_PATH` descriptors of unused pipes. */
  readonly #unused: number[] = [];

  constructor(folder: string) {
    this.#folder = folder;
    this.#maker = MAKERS.find((path) => existsSync(path));
  }

  /** Undefined if this machine cannot create any: then a socket is used. */
  take(): OutputPipe | undefined {
    if (this.#unused.length === 0) this.#make();
    const handle = this.#unused.pop();
    if (handle === undefined) return undefined;
    try {
      const reader = openSync(procPath(handle), constants.O_RDONLY | constants.O_NONBLOCK);
      const writer = openSync(procPath(handle), constants.O_WRONLY);
      const output = new Socket({ fd: reader, readable: true, writable: false });
      return { writer, output, release: () => void output.destroy() };
    } finally {
      closeSync(handle);
    }
  }

  close(): void {
    for (const handle of this.#unused.splice(0)) closeSync(handle);
  }

  #make(): void {
    if (this.#maker === undefined) return;
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const paths = Array.from({ length: MADE_AT_ONCE }, () => join(this.#folder, `.${randomUUID()}`));
    const { status } = spawnSync(this.#maker, ["-m", "600", "--", ...paths], { stdio: "ignore", env: {} });
    for (const path of paths) {
      if (status === 0) this.#unused.push(openHandle(path));
      if (existsSync(path)) unlinkSync(path);
    }
  }
}
