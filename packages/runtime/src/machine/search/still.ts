import { fstatSync, statfsSync } from "node:fs";
import { procPath } from "../files/handle.ts";

/**
 * File systems of this machine's own kernel, whose times nobody can set back: ext2 to 4, xfs, btrfs, f2fs, tmpfs and
 * overlays of them. A server's clock, or a file system that is a program, proves nothing.
 */
const LOCAL = new Set([0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x01021994, 0x794c7630]);

/** The kernel stamps changes with a time that lags behind by up to one tick, at most 10 ms. */
const MARGIN_MS = 100;
/** As much may two clocks drift apart before one of them must have been set. */
const DRIFT_MS = 50;

/**
 * Tells folders in which nothing was added, removed or swapped since before the search began. To turn a name into a link
 * and back is to change the folder that it is in, and the kernel puts the time of that on the folder (ctime), which no
 * program can set. So where a folder and those above it are still, what an engine read by name there is what is there.
 */
export class StillFolders {
  readonly #device: number | undefined;
  readonly #began = Date.now();
  readonly #beganSteady = performance.now();

  /** `top` is the searched folder, open; made before the engine starts. */
  constructor(top: number) {
    this.#device = LOCAL.has(statfsSync(procPath(top)).type) ? fstatSync(top).dev : undefined;
  }

  /** Asked after the engine spoke. */
  isStill(folder: number): boolean {
    if (this.#device === undefined || this.#wasClockSet()) return false;
    const { dev, ctimeMs, mtimeMs } = fstatSync(folder);
    return dev === this.#device && Math.max(ctimeMs, mtimeMs) < this.#began - MARGIN_MS;
  }

  #wasClockSet(): boolean {
    return Math.abs(Date.now() - this.#began - (performance.now() - this.#beganSteady)) > DRIFT_MS;
  }
}
