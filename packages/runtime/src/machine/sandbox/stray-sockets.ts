import { lstatSync, readFileSync } from "node:fs";
import type { Dirent, Stats } from "node:fs";
import { dirname } from "node:path";
import type { HiddenPlace } from "./bwrap.ts";
import { entriesOf } from "./find-outside.ts";

/** A visible part of the machine: its path inside, and its real path. */
export interface ShownPlace {
  readonly path: string;
  readonly source: string;
}

/** A named socket, as the kernel reports it. */
interface NamedSocket {
  /** Inode of the socket, not of its file. */
  readonly inode: string;
  /** The name it was bound to. It may have moved since, and the name may be relative to an unknown folder. */
  readonly name: string;
}

/** While such sockets exist, search again after this time: one may have been renamed once more. */
const FRESH_MS = 60_000;
/** Time limit. System folders have about 20,000 subfolders: 1 s the first time, 0.1 s later. The rest is not searched. */
const LOOK_MS = 5_000;
/** A folder that changed more recently may change again without a newer time, so it is read again. */
const SETTLED_MS = 100;

/** Cached entries of a folder; valid until it changes. */
interface KnownFolder {
  readonly changedMs: number;
  readonly isSettled: boolean;
  readonly folders: readonly string[];
  readonly sockets: readonly string[];
}

/**
 * Sockets in visible folders that are not at the path where the kernel says they were bound: renamed, or bound by a
 * relative name. A read-only mount does not block them. The folders are searched only while such a socket exists, which
 * on most machines is never the case: services have theirs in `/run`.
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
    // Mounting over one that is gone would fail.
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

/** Reachable named sockets: listening ones, and those that receive datagrams. */
function namedSockets(): readonly NamedSocket[] {
  let table: string;
  try {
    table = readFileSync("/proc/net/unix", "utf8");
  } catch {
    return []; // not available on this system
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
    // A rename cannot cross file systems, such as from `/run` to `/opt`.
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
    return undefined; // not accessible to us, and so not to the command
  }
}
