import { closeSync, fdatasync, fdatasyncSync, fsync, fsyncSync } from "node:fs";

interface Waiting {
  readonly fd: number;
  readonly sync: typeof fsync;
  readonly stays: boolean;
}

/** Descriptors to fsync before the next step. They are synced in parallel, which takes about as long as one. */
export class Syncs {
  #waiting: Waiting[] = [];

  get count(): number {
    return this.#waiting.length;
  }

  /** Closed after the sync. */
  add(fd: number): void {
    this.#waiting.push({ fd, sync: fsync, stays: false });
  }

  /** The caller closes it. */
  addOpen(fd: number): void {
    this.#waiting.push({ fd, sync: fsync, stays: true });
  }

  /** An append-only file, for which fdatasync is enough. The caller closes it. */
  addLog(fd: number): void {
    this.#waiting.push({ fd, sync: fdatasync, stays: true });
  }

  /** Throws the first error after all syncs have finished. */
  async run(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    const errors = await Promise.all(waiting.map(runSync));
    closeAll(waiting);
    for (const error of errors) if (error !== null) throw error;
  }

  /** Like `run`, but synchronous, for few descriptors. */
  runAtOnce(): void {
    try {
      for (const { fd, sync } of this.#waiting)
        if (sync === fsync) fsyncSync(fd);
        else fdatasyncSync(fd);
    } finally {
      this.close();
    }
  }

  /** Closes descriptors that were not synced. */
  close(): void {
    closeAll(this.#waiting);
    this.#waiting = [];
  }
}

function runSync({ fd, sync }: Waiting): Promise<Error | null> {
  return new Promise((resolve) => {
    sync(fd, resolve);
  });
}

function closeAll(waiting: readonly Waiting[]): void {
  for (const { fd, stays } of waiting) if (!stays) closeSync(fd);
}
