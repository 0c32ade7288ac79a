import { fstatSync, statfsSync } from "node:fs";
import { procPath } from "../system/handle.ts";

/**
 * Local kernel file systems, on which no program can set the ctime: ext2 to 4, xfs, btrfs, f2fs, tmpfs and overlays of
 * them. Network and FUSE file systems cannot be trusted with that.
 */
const LOCAL = new Set([0xef53, 0x58465342, 0x9123683e, 0xf2f52010, 0x01021994, 0x794c7630]);

/** The kernel's change times lag by up to one tick, at most 10 ms. */
const MARGIN_MS = 100;
/** If two clocks drift apart by more than this, one of them was set. */
const DRIFT_MS = 50;

/**
 * Recognizes folders in which nothing was added, removed or replaced since before the search began. Replacing a name by
 * a link and back updates the ctime of its folder, which no program can set. So if a folder and its parents are
 * unchanged, the files that an engine read there by name are still the same.
 */
export class UnchangedFolders {
  readonly #device: number | undefined;
  readonly #began = Date.now();
  readonly #beganSteady = performance.now();

  /** `top` is the open searched folder. Create this before the engine starts. */
  constructor(top: number) {
    this.#device = LOCAL.has(statfsSync(procPath(top)).type) ? fstatSync(top).dev : undefined;
  }

  /** Call this after the engine's output. */
  isStill(folder: number): boolean {
    if (this.#device === undefined || this.#wasClockSet()) return false;
    const { dev, ctimeMs, mtimeMs } = fstatSync(folder);
    return dev === this.#device && Math.max(ctimeMs, mtimeMs) < this.#began - MARGIN_MS;
  }

  #wasClockSet(): boolean {
    return Math.abs(Date.now() - this.#began - (performance.now() - this.#beganSteady)) > DRIFT_MS;
  }
}
