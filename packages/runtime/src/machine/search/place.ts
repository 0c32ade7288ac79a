import { closeSync, constants, fstatSync, lstatSync, openSync } from "node:fs";
import { dirname, join } from "node:path";
import { isInside } from "../../paths/inside.ts";
import { judgePlace } from "../../policy/paths/check-path.ts";
import type { ResolvedTouch, WorkspaceContext } from "../../policy/decide.ts";
import { ToolError } from "../../protocol/errors.ts";
import { openHandle, procPath, realBytesOf } from "../system/handle.ts";
import { asToolError } from "../system/system-error.ts";
import type { Walk } from "./arguments.ts";
import { decodeKey } from "../system/keys.ts";

/** The start of a search, held open: the path that was checked is the one that is searched. The caller closes `fd`. */
export interface SearchPlace {
  readonly kind: "folder" | "file";
  /** A file is open for reading; a folder only as a starting point. */
  readonly fd: number;
  /** The real path, one character per byte. */
  readonly real: string;
}

/** Opens the checked path and verifies with the kernel that its real path is unchanged. */
export function openPlace(touch: ResolvedTouch, workspace: WorkspaceContext): SearchPlace {
  const { path } = touch;
  const wanted = Buffer.from(touch.real).toString("latin1");
  const handle = attempt(path, () => openHandle(touch.real));
  try {
    if (realBytesOf(handle) !== wanted) {
      throw new ToolError(
        "PathTraversalBlocked",
        `Cannot search "${path}": its real path changed since it was checked`,
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

/** System folders that are not searched if "/" is a root. */
const NO_FILES = ["/proc", "/sys", "/dev"];

/** How the folder is walked. Only for speed and `.gitignore`: access is checked entry by entry. */
export function walkOf(folder: string, workspace: WorkspaceContext): Walk {
  const top = decodeKey(folder);
  const closed = [...workspace.state_dirs, ...NO_FILES].filter(
    (place) => place !== top && isInside(top, place) && isThere(place),
  );
  return {
    closed: closed.map((place) => place.slice(top === "/" ? 1 : top.length + 1)),
    above: ignoreFilesAbove(top, workspace.roots),
  };
}

/**
 * `.gitignore` files above the folder apply if they are inside the roots. Those outside must not apply: a workspace in
 * an ignored folder would look empty. An engine applies all of them or none, so if some are outside and no repository
 * starts inside the roots, none apply.
 */
function ignoreFilesAbove(top: string, roots: readonly string[]): Walk["above"] {
  const { inside, outside } = foldersAbove(top, roots);
  if (inside.length === 0) return "none";
  if ([top, ...inside].some((folder) => isThere(join(folder, ".git")))) return "repository";
  return outside.some((folder) => isThere(join(folder, ".gitignore"))) ? "none" : "all";
}

/** Which `.gitignore` files an fd that applies them only in repositories applies in this folder. */
export type FdIgnores = "all" | "top" | "none";

export function fdIgnoresIn(folder: string, { above }: Walk, roots: readonly string[]): FdIgnores {
  const top = decodeKey(folder);
  if (above === "repository" || isThere(join(top, ".git"))) return "all";
  if (above === "none") return "top";
  return foldersAbove(top, roots).inside.some((each) => isThere(join(each, ".gitignore"))) ? "none" : "top";
}

export function has(folder: string, name: string): boolean {
  return isThere(join(decodeKey(folder), name));
}

/** The parents of a folder, nearest first: those inside the roots, and those outside. */
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
    return false; // not accessible, so no engine reads it either
  }
}
