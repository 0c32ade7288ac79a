import { lstatSync, readFileSync } from "node:fs";
import type { Dirent, Stats } from "node:fs";
import { dirname } from "node:path";
import type { HiddenPlace } from "./bwrap.ts";
import { entriesOf } from "./find-outside.ts";

/** What commands see of the machine: where it is inside, and where it lies. */
export interface ShownPlace {
  readonly path: string;
  readonly source: string;
}

/** A socket that has a name: what the kernel says of it. */
interface NamedSocket {
  /** The socket's own, not the file's. */
  readonly inode: string;
  /** As it was bound. Not where it is by now, and perhaps relative to a folder that nobody knows. */
  readonly name: string;
}

/** While such sockets exist, they are looked for again after this time: somebody may have renamed one once more. */
const FRESH_MS = 60_000;
/** Folders of the system have some 20,000 folders: 1 s the first time, 0.1 s later. What lies beyond is not looked at. */
const LOOK_MS = 5_000;
/** A folder that changed this short a time ago may change again without a newer time: it is read again. */
const SETTLED_MS = 100;

/** What lies in a folder, for as long as that does not change. */
interface KnownFolder {
  readonly changedMs: number;
  readonly isSettled: boolean;
  readonly folders: readonly string[];
  readonly sockets: readonly string[];
}

/**
 * Sockets in folders that commands see which are not where the kernel says that they were bound: renamed, or bound by a
 * relative name. A read-only mount does not close them. The folders are walked only where such a socket exists at all,
 * which on most machines is never: those of services lie in `/run`.
 */
export class StraySockets {
  #key = "";
  #lookedAt = -Infinity;
  #found: readonly ShownPlace[] = [];
  readonly #known = new Map<string, KnownFolder>();

  find(shown: readonly ShownPlace[]): readonly HiddenPlace[] {
    const strays = straySockets(shown);
    if (strays.length === 0) return [];
    const key = [...strays.map(({ inode }) => inode), ...shown.map(({ path }) => path)].join();
    if (key !== this.#key || performance.now() - this.#lookedAt > FRESH_MS) {
      this.#found = this.#walk(shown);
      this.#key = key;
      this.#lookedAt = performance.now();
    }
    // One that is gone could not be mounted on.
    const there = this.#found.filter(({ source }) => lstatOf(source)?.isSocket() === true);
    return there.map(({ path }) => ({ path, kind: "file" }));
  }

  #walk(shown: readonly ShownPlace[]): readonly ShownPlace[] {
    const until = performance.now() + LOOK_MS;
    // Small folders first: `/usr` is large, and only root binds sockets there.
    return shown.toReversed().flatMap(({ path, source }) => {
      const folders = [source];
      const found: ShownPlace[] = [];
      // The list grows while it is walked.
      for (const folder of folders) {
        if (performance.now() > until) break;
        const known = this.#look(folder);
        if (known === undefined) continue;
        for (const name of known.folders) folders.push(`${folder}/${name}`);
        for (const name of known.sockets) {
          const socket = `${folder}/${name}`;
          found.push({ path: path + socket.slice(source.length), source: socket });
        }
      }
      return found;
    });
  }

  #look(folder: string): KnownFolder | undefined {
    const stats = lstatOf(folder);
    if (stats?.isDirectory() !== true) return undefined;
    const changedMs = stats.ctimeMs;
    const known = this.#known.get(folder);
    if (known?.isSettled === true && known.changedMs === changedMs) return known;
    const entries = entriesOf(folder) ?? [];
    const namesOf = (is: (entry: Dirent) => boolean): readonly string[] => entries.filter(is).map(({ name }) => name);
    const made: KnownFolder = {
      changedMs,
      isSettled: Date.now() - changedMs > SETTLED_MS,
      folders: namesOf((entry) => entry.isDirectory()),
      sockets: namesOf((entry) => entry.isSocket()),
    };
    this.#known.set(folder, made);
    return made;
  }
}

const LISTENS = 0x1_0000;
const DATAGRAM = 2;

/** Named sockets that others can reach: those that listen, and those that take messages without. */
function namedSockets(): readonly NamedSocket[] {
  let table: string;
  try {
    table = readFileSync("/proc/net/unix", "utf8");
  } catch {
    return []; // the system does not tell
  }
  return table.split("\n").flatMap((line) => {
    const [, flags = "", type = "", inode = "", name = ""] =
      /^[0-9a-f]+: \S+ \S+ (\S+) (\S+) \S+ +(\d+) ([^@].*)$/i.exec(line) ?? [];
    const isReached = (Number.parseInt(flags, 16) & LISTENS) !== 0 || Number.parseInt(type, 16) === DATAGRAM;
    return name !== "" && isReached ? [{ inode, name }] : [];
  });
}

function straySockets(shown: readonly ShownPlace[]): readonly NamedSocket[] {
  const named = namedSockets();
  if (named.length === 0) return [];
  const devices = new Set(shown.map(({ source }) => deviceOf(source)));
  return named.filter(({ name }) => {
    if (!name.startsWith("/")) return true;
    if (lstatOf(name)?.isSocket() === true) return false;
    // Renaming does not lead to another file system, such as from `/run` to `/opt`.
    return devices.has(deviceAbove(name));
  });
}

function deviceAbove(path: string): number | undefined {
  for (let above = dirname(path); ; above = dirname(above)) {
    const device = deviceOf(above);
    if (device !== undefined || above === "/") return device;
  }
}

function deviceOf(path: string): number | undefined {
  return lstatOf(path)?.dev;
}

function lstatOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // out of our own reach, and so out of the command's
  }
}
