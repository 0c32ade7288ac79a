import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, constants, existsSync, mkdirSync, openSync, unlinkSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { openHandle, procPath } from "../system/handle.ts";

/** A pipe of the system. What node makes for a child are sockets, and `> /dev/stderr` cannot open those. */
export interface OutputPipe {
  /** For the child. */
  readonly writer: number;
  readonly output: Readable;
  /** Stops reading. */
  release(): void;
}

/** Where mkfifo is: node has no call that makes a pipe. */
const MAKERS = ["/usr/bin/mkfifo", "/bin/mkfifo"] as const;
/** One process makes this many, which costs a command half a millisecond for its two pipes. */
const MADE_AT_ONCE = 32;

/**
 * Pipes for the output of commands, without names. Each is used once: a command can keep a handle of its pipe that no
 * reader sees (`O_PATH`, a read end), open it for writing later, and forge output of the command that got it next.
 */
export class PipePool {
  readonly #folder: string;
  readonly #maker: string | undefined;
  /** `O_PATH` descriptors of pipes that were never used. */
  readonly #unused: number[] = [];

  constructor(folder: string) {
    this.#folder = folder;
    this.#maker = MAKERS.find((path) => existsSync(path));
  }

  /** Undefined where this machine cannot make any: then a socket has to do. */
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
