import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, constants, existsSync, mkdirSync, openSync, unlinkSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { openHandle, procPath } from "../files/handle.ts";

/** A pipe of the system. What node makes for a child are sockets, and `> /dev/stderr` cannot open those. */
export interface OutputPipe {
  /** For the child. */
  readonly writer: number;
  readonly output: Readable;
  /** Called when nobody writes any more, as far as known. */
  release(): void;
}

/** Where mkfifo is: node has no call that makes a pipe. */
const MAKERS = ["/usr/bin/mkfifo", "/bin/mkfifo"] as const;
const MADE_AT_ONCE = 4;
const MOST_KEPT = 16;

/** Pipes for the output of commands, used again and again. They have no names, only descriptors. */
export class PipePool {
  readonly #folder: string;
  readonly #maker: string | undefined;
  /** Each names a pipe without having it open. */
  readonly #free: number[] = [];

  constructor(folder: string) {
    this.#folder = folder;
    this.#maker = MAKERS.find((path) => existsSync(path));
  }

  /** Undefined where this machine cannot make any: then a socket has to do. */
  take(): OutputPipe | undefined {
    if (this.#free.length === 0) this.#make();
    const handle = this.#free.pop();
    if (handle === undefined) return undefined;
    const reader = openSync(procPath(handle), constants.O_RDONLY | constants.O_NONBLOCK);
    const writer = openSync(procPath(handle), constants.O_WRONLY);
    const output = new Socket({ fd: reader, readable: true, writable: false });
    return { writer, output, release: () => this.#takeBack(handle, output) };
  }

  close(): void {
    for (const handle of this.#free.splice(0)) closeSync(handle);
  }

  /** One that somebody still has open for writing is not used again: the next command's output would be mixed with it. */
  #takeBack(handle: number, output: Readable): void {
    const isEmpty = output.readableEnded;
    output.destroy();
    if (isEmpty && this.#free.length < MOST_KEPT) this.#free.push(handle);
    else closeSync(handle);
  }

  #make(): void {
    if (this.#maker === undefined) return;
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const paths = Array.from({ length: MADE_AT_ONCE }, () => join(this.#folder, `.${randomUUID()}`));
    const { status } = spawnSync(this.#maker, ["-m", "600", "--", ...paths], { stdio: "ignore", env: {} });
    for (const path of paths) {
      if (status === 0) this.#free.push(openHandle(path));
      if (existsSync(path)) unlinkSync(path);
    }
  }
}
