import { closeSync, constants, fstatSync, lstatSync, openSync } from "node:fs";
import { dirname, join } from "node:path";
import { isInside } from "../../paths/inside.ts";
import { judgePlace } from "../../policy/check-path.ts";
import type { ResolvedTouch, WorkspaceContext } from "../../policy/decide.ts";
import { ToolError } from "../../protocol/errors.ts";
import { openHandle, procPath, realBytesOf } from "../files/handle.ts";
import { asToolError } from "../files/system-error.ts";
import type { Walk } from "./arguments.ts";
import { decodeKey } from "./keys.ts";

/** Where a search begins, held open: what was judged is what is searched. The caller closes `fd`. */
export interface SearchPlace {
  readonly kind: "folder" | "file";
  /** A file is open for reading; a folder only as a place to start in. */
  readonly fd: number;
  /** Where it really is, one character a byte. */
  readonly real: string;
}

/** Opens the place that was judged and asks the kernel whether it is still the same. */
export function openPlace(touch: ResolvedTouch, workspace: WorkspaceContext): SearchPlace {
  const { path } = touch;
  const wanted = Buffer.from(touch.real).toString("latin1");
  const handle = attempt(path, () => openHandle(touch.real));
  try {
    if (realBytesOf(handle) !== wanted) {
      throw new ToolError(
        "PathTraversalBlocked",
        `Cannot search "${path}": it leads elsewhere than when it was checked`,
        { path },
      );
    }
    const refusal = judgePlace(decodeKey(wanted), workspace);
    if (refusal !== undefined) {
      throw new ToolError(refusal.code, `Cannot search "${path}": ${refusal.reason}`, { path });
    }
    const stats = fstatSync(handle);
    if (stats.isDirectory()) return { kind: "folder", fd: handle, real: wanted };
    if (!stats.isFile()) {
      throw new ToolError("InvalidArguments", `Cannot search "${path}": it is neither a file nor a folder`, { path });
    }
    const fd = attempt(path, () => openSync(procPath(handle), constants.O_RDONLY | constants.O_NONBLOCK));
    closeSync(handle);
    return { kind: "file", fd, real: wanted };
  } catch (error) {
    closeSync(handle);
    throw error;
  }
}

function attempt(path: string, open: () => number): number {
  try {
    return open();
  } catch (error) {
    throw asToolError(error, path);
  }
}

/** The machine's own folders are no place to search, should the whole of it be a root. */
const NO_FILES = ["/proc", "/sys", "/dev"];

/** How the folder is walked. This is for speed and for `.gitignore`; what may be shown is judged entry by entry. */
export function walkOf(folder: string, workspace: WorkspaceContext): Walk {
  const top = decodeKey(folder);
  const closed = [...workspace.state_dirs, ...NO_FILES].filter(
    (place) => place !== top && isInside(top, place) && isThere(place),
  );
  return {
    closed: closed.map((place) => place.slice(top === "/" ? 1 : top.length + 1)),
    above: whatCountsAbove(top, workspace.roots),
  };
}

/**
 * `.gitignore` files above the folder count as far as they are inside the roots. Those outside are nobody's business
 * here: a workspace in a folder that its surroundings ignore would look empty. An engine takes all of them or none, so
 * where some lie outside and no repository begins inside, it is none.
 */
function whatCountsAbove(top: string, roots: readonly string[]): Walk["above"] {
  const { inside, outside } = foldersAbove(top, roots);
  if (inside.length === 0) return "none";
  if ([top, ...inside].some((folder) => isThere(join(folder, ".git")))) return "repository";
  return outside.some((folder) => isThere(join(folder, ".gitignore"))) ? "none" : "all";
}

/** How an fd that heeds `.gitignore` only in repositories does in this folder. */
export type FdHeeds = "all" | "top" | "none";

export function fdHeedsIn(folder: string, { above }: Walk, roots: readonly string[]): FdHeeds {
  const top = decodeKey(folder);
  if (above === "repository" || isThere(join(top, ".git"))) return "all";
  if (above === "none") return "top";
  return foldersAbove(top, roots).inside.some((each) => isThere(join(each, ".gitignore"))) ? "none" : "top";
}

export function has(folder: string, name: string): boolean {
  return isThere(join(decodeKey(folder), name));
}

/** The folders above one, nearest first: those that belong to the roots, and those that do not. */
function foldersAbove(top: string, roots: readonly string[]): { inside: string[]; outside: string[] } {
  const inside: string[] = [];
  const outside: string[] = [];
  for (let folder = top; folder !== "/";) {
    folder = dirname(folder);
    (roots.some((root) => isInside(root, folder)) ? inside : outside).push(folder);
  }
  return { inside, outside };
}

function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false; // it cannot be looked at, so no engine reads it either
  }
}
