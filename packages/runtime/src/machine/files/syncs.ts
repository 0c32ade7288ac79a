import { closeSync, fdatasync, fdatasyncSync, fsync, fsyncSync } from "node:fs";

interface Waiting {
  readonly fd: number;
  readonly sync: typeof fsync;
  readonly stays: boolean;
}

/** Descriptors whose content has to reach the disk before something else happens: all side by side, at the cost of about one. */
export class Syncs {
  #waiting: Waiting[] = [];

  get count(): number {
    return this.#waiting.length;
  }

  /** Closed when it is done. */
  add(fd: number): void {
    this.#waiting.push({ fd, sync: fsync, stays: false });
  }

  /** Somebody else's to close. */
  addOpen(fd: number): void {
    this.#waiting.push({ fd, sync: fsync, stays: true });
  }

  /** A file that only grows: its times may reach the disk later. Somebody else's to close. */
  addLog(fd: number): void {
    this.#waiting.push({ fd, sync: fdatasync, stays: true });
  }

  /** Throws what the first one that failed says, when all are done. */
  async run(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    const errors = await Promise.all(waiting.map(runSync));
    closeAll(waiting);
    for (const error of errors) if (error !== null) throw error;
  }

  /** The same without letting others run meanwhile, for the few that are left. */
  runAtOnce(): void {
    try {
      for (const { fd, sync } of this.#waiting)
        if (sync === fsync) fsyncSync(fd);
        else fdatasyncSync(fd);
    } finally {
      this.close();
    }
  }

  /** Gives up what is still waiting. */
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
