import { hash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { isSystemError } from "../system/system-error.ts";
import { systemPath } from "../system/keys.ts";
import { ORIGIN } from "./pinned-files.ts";
import type { PinOptions } from "./pinned-files.ts";
import type { ObjectStore } from "./object-store.ts";
import { WorkTree } from "./work-tree.ts";
import type { GitPlace } from "./work-tree.ts";

const NAME_LENGTH = 32;
const STORE = "/.git/objects";

/** The repositories below the roots whose objects are kept by hard links. The caller closes it. */
export class GitTrees {
  readonly #folder: string;
  readonly #home: string;
  readonly #trees = new Map<string, WorkTree>();

  constructor(state_dir: string, home: string) {
    this.#folder = join(state_dir, "held");
    this.#home = home;
  }

  /** Undefined if the repository is small, or its objects cannot be held. `key` is the key of its work tree. */
  async begin(key: string, options: PinOptions): Promise<GitPlace | undefined> {
    const tree = this.#trees.get(key) ?? this.#open(key);
    this.#trees.set(key, tree);
    return (await tree.begin(options)) ? { tree, prefix: "", doubts: tree.doubts() } : undefined;
  }

  /** A store by its key, as an earlier process held it. */
  reopen(storeKey: string, trailers: ReadonlyMap<string, Buffer>): ObjectStore {
    const key = storeKey.slice(0, -STORE.length);
    const tree = this.#trees.get(key) ?? this.#open(key);
    this.#trees.set(key, tree);
    tree.store.reopen(trailers);
    return tree.store;
  }

  /** Call this after the first scan of a process. */
  finish(): void {
    try {
      for (const tree of this.#trees.values()) tree.finish();
    } catch (error) {
      if (!isSystemError(error)) throw error;
      // Disk full: the next process then reads the files whose index entries changed since.
    }
  }

  /** Releases repositories that no longer exist. */
  sweep(): void {
    try {
      if (!existsSync(this.#folder)) return;
      for (const name of readdirSync(this.#folder)) {
        const origin = readFileSync(join(this.#folder, name, ORIGIN), "latin1");
        if (!existsSync(systemPath(origin))) rmSync(join(this.#folder, name), { recursive: true, force: true });
      }
    } catch (error) {
      if (!isSystemError(error)) throw error;
      // Retried at the next start: until then it only takes disk space.
    }
  }

  close(): void {
    for (const tree of this.#trees.values()) tree.close();
    this.#trees.clear();
  }

  #open(key: string): WorkTree {
    const mirror = join(this.#folder, hash("sha256", key, "hex").slice(0, NAME_LENGTH));
    return new WorkTree(key, { mirror: join(mirror, "objects"), home: this.#home });
  }
}
