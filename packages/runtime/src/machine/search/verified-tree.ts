import { closeSync, constants, fstatSync, lstatSync, openSync } from "node:fs";
import type { Stats } from "node:fs";
import { isHiddenName, judgeRoots } from "../../policy/paths/check-path.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import { procPath, realBytesOf } from "../system/handle.ts";
import { asToolError } from "../system/system-error.ts";
import { isTemporaryName } from "../system/temporary-name.ts";
import { decodeKey, folderOf, nameOf, systemPath } from "../system/keys.ts";
import type { UnchangedFolders } from "./unchanged-folders.ts";

export interface SnapshotOptions {
  /** The real path of the searched folder, one character per byte. */
  readonly top: string;
  readonly workspace: WorkspaceContext;
  readonly judgeBelow: (real: string) => string | undefined;
  readonly still: UnchangedFolders;
}

/** Does not block on a pipe, follow a link, or acquire a controlling terminal. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
/** Only refers to the entry: neither reads nor writes it. */
const ENTRY = 0o10000000 /* O_PATH */ | constants.O_NOFOLLOW;
const FOLDER = ENTRY | constants.O_DIRECTORY;

/** Cache size for verdicts and folders. Results come in path order, so few are needed. */
const REMEMBERED = 4096;
const OPEN_FOLDERS = 32;

export type Verdict = "open" | "hidden" | "closed";

/**
 * Decides which entries below a searched folder may be reported. An engine names them; each is looked up again here,
 * and counts only if it really is at that path. Keys are relative to the folder.
 */
export class VerifiedTree {
  readonly #options: SnapshotOptions;
  readonly #prefix: string;
  readonly #verdicts = new Map<string, Verdict>();
  readonly #folders = new Map<string, number | undefined>();
  readonly #still = new Map<string, boolean>();

  constructor(options: SnapshotOptions) {
    this.#options = options;
    this.#prefix = options.top === "/" ? "/" : `${options.top}/`;
  }

  /** Checks only the name against the rules. */
  judge(key: string): Verdict {
    const folder = this.#judgeFolder(folderOf(key));
    return folder === "open" ? this.#judgeEntry(key) : folder;
  }

  /**
   * Whether the entry is certainly what the engine saw, because nothing on its path changed since before the search.
   * Valid for output that the engine produced before the last `forget`.
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

  /** Opens a regular file for reading; undefined if it is not at that path. The caller closes it. */
  openFile(key: string): number | undefined {
    const wanted = `${this.#prefix}${key}`;
    const fd = attempt(() => openSync(systemPath(wanted), READ));
    if (fd === undefined) return undefined;
    if (realBytesOf(fd) === wanted && fstatSync(fd).isFile()) return fd;
    closeSync(fd);
    return undefined;
  }

  /** Like `lookAt`, but faster if no other entry of its folder is examined. */
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

  /** The entry itself (links are not followed); undefined if it is not at that path. */
  lookAt(key: string): Stats | undefined {
    const folder = this.#openFolder(folderOf(key));
    if (folder === undefined) return undefined;
    const path = systemPath(`${procPath(folder)}/${nameOf(key)}`);
    return attempt(() => lstatSync(path, { throwIfNoEntry: false }));
  }

  /** Drops all folders and cached facts about them, because they may have changed. */
  forget(): void {
    this.#still.clear();
    this.#closeFolders();
  }

  #closeFolders(): void {
    for (const fd of this.#folders.values()) if (fd !== undefined) closeSync(fd);
    this.#folders.clear();
  }

  #judgeFolder(key: string): Verdict {
    if (key === "") return "open"; // checked when it was opened
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

/** Removed, replaced by a link, or not accessible: treated as missing. */
const NOT_THERE = new Set(["ENOENT", "ENOTDIR", "ELOOP", "EACCES", "EPERM", "ENXIO", "ENODEV", "ENAMETOOLONG"]);

function attempt<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (NOT_THERE.has((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw asToolError(error, ".");
  }
}
