import { closeSync, constants, fstatSync, lstatSync, openSync } from "node:fs";
import type { Stats } from "node:fs";
import { isHiddenName, judgeRoots } from "../../policy/check-path.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import { procPath, realBytesOf } from "../files/handle.ts";
import { asToolError } from "../files/system-error.ts";
import { isTemporaryName } from "../files/temporary-name.ts";
import { decodeKey, folderOf, nameOf, systemPath } from "./keys.ts";
import type { StillFolders } from "./still.ts";

export interface TreeOptions {
  /** Where the searched folder really is, one character a byte. */
  readonly top: string;
  readonly workspace: WorkspaceContext;
  readonly judgeBelow: (real: string) => string | undefined;
  readonly still: StillFolders;
}

/** Without waiting for the other end of a pipe, without following a link, without becoming anybody's terminal. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
/** Only as a place: neither read nor written. */
const ENTRY = 0o10000000 /* O_PATH */ | constants.O_NOFOLLOW;
const FOLDER = ENTRY | constants.O_DIRECTORY;

/** Verdicts and folders that are remembered. Results come in path order, so few are needed. */
const REMEMBERED = 4096;
const OPEN_FOLDERS = 32;

export type Verdict = "open" | "hidden" | "closed";

/**
 * What may be told of the entries below a searched folder. An engine names them; here each is looked up again, and
 * counts only if it really is at that place. Keys are relative to the folder.
 */
export class VerifiedTree {
  readonly #options: TreeOptions;
  readonly #prefix: string;
  readonly #verdicts = new Map<string, Verdict>();
  readonly #folders = new Map<string, number | undefined>();
  readonly #still = new Map<string, boolean>();

  constructor(options: TreeOptions) {
    this.#options = options;
    this.#prefix = options.top === "/" ? "/" : `${options.top}/`;
  }

  /** By its name and the rules alone. */
  judge(key: string): Verdict {
    const folder = this.#judgeFolder(folderOf(key));
    return folder === "open" ? this.#judgeEntry(key) : folder;
  }

  /**
   * Whether the entry is for sure what the engine saw, because nothing on the way to it changed since before the search.
   * Good for what the engine said before the last `forget`.
   */
  isStill(key: string): boolean {
    const folder = folderOf(key);
    const known = this.#still.get(folder);
    if (known !== undefined) return known;
    const isAboveStill = folder === "" || this.isStill(folder);
    const fd = isAboveStill ? this.#openFolder(folder) : undefined;
    const isStill = fd !== undefined && this.#options.still.isStill(fd);
    this.#still.set(folder, isStill);
    return isStill;
  }

  /** Opens a regular file for reading, or gives undefined where it is not at that place. The caller closes it. */
  openFile(key: string): number | undefined {
    const wanted = `${this.#prefix}${key}`;
    const fd = attempt(() => openSync(systemPath(wanted), READ));
    if (fd === undefined) return undefined;
    if (realBytesOf(fd) === wanted && fstatSync(fd).isFile()) return fd;
    closeSync(fd);
    return undefined;
  }

  /** The same as `lookAt`, and faster where no other entry of its folder is looked at. */
  lookAtAlone(key: string): Stats | undefined {
    const wanted = `${this.#prefix}${key}`;
    const fd = attempt(() => openSync(systemPath(wanted), ENTRY));
    if (fd === undefined) return undefined;
    try {
      return realBytesOf(fd) === wanted ? fstatSync(fd) : undefined;
    } finally {
      closeSync(fd);
    }
  }

  /** The entry itself, a link as a link; undefined where it is not at that place. */
  lookAt(key: string): Stats | undefined {
    const folder = this.#openFolder(folderOf(key));
    if (folder === undefined) return undefined;
    const path = systemPath(`${procPath(folder)}/${nameOf(key)}`);
    return attempt(() => lstatSync(path, { throwIfNoEntry: false }));
  }

  /** Lets go of all folders, and of what was found out about them: things may be different from now on. */
  forget(): void {
    this.#still.clear();
    this.#closeFolders();
  }

  #closeFolders(): void {
    for (const fd of this.#folders.values()) if (fd !== undefined) closeSync(fd);
    this.#folders.clear();
  }

  #judgeFolder(key: string): Verdict {
    if (key === "") return "open"; // it was judged when it was opened
    const known = this.#verdicts.get(key);
    if (known !== undefined) return known;
    const above = this.#judgeFolder(folderOf(key));
    const verdict = above === "open" ? this.#judgeEntry(key) : above;
    if (this.#verdicts.size >= REMEMBERED) this.#verdicts.clear();
    this.#verdicts.set(key, verdict);
    return verdict;
  }

  #judgeEntry(key: string): Verdict {
    if (isTemporaryName(nameOf(key))) return "closed";
    const { workspace, judgeBelow } = this.#options;
    const place = decodeKey(`${this.#prefix}${key}`);
    const folder = place.slice(0, Math.max(1, place.lastIndexOf("/")));
    if (isHiddenName(folder, decodeKey(nameOf(key)), workspace)) return "hidden";
    if (judgeRoots(place, workspace.roots) !== undefined) return "closed";
    return judgeBelow(place) === undefined ? "open" : "closed";
  }

  #openFolder(key: string): number | undefined {
    if (this.#folders.has(key)) return this.#folders.get(key);
    if (this.#folders.size >= OPEN_FOLDERS) this.#closeFolders();
    const fd = openExactly(key === "" ? this.#options.top : `${this.#prefix}${key}`);
    this.#folders.set(key, fd);
    return fd;
  }
}

function openExactly(wanted: string): number | undefined {
  const fd = attempt(() => openSync(systemPath(wanted), FOLDER));
  if (fd === undefined || realBytesOf(fd) === wanted) return fd;
  closeSync(fd);
  return undefined;
}

/** It vanished, became a link, or is closed to this process: not there for us. */
const NOT_THERE = new Set(["ENOENT", "ENOTDIR", "ELOOP", "EACCES", "EPERM", "ENXIO", "ENODEV", "ENAMETOOLONG"]);

function attempt<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (NOT_THERE.has((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw asToolError(error, ".");
  }
}
