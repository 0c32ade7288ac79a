import { closeSync, fstatSync, readlinkSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { ToolError } from "../../protocol/errors.ts";
import { openHandle, realPathOf } from "./handle.ts";

export interface ResolvedPath {
  /** Absolute. For a missing entry: its nearest existing folder plus the names below it. */
  readonly real: string;
  readonly exists: boolean;
}

const MAX_LINKS = 40; // same limit as the kernel
const MAX_PATH = 4096;

/**
 * The real path as the kernel resolves it, including links, `..` after a link and `/proc/self/root`. A link to a
 * missing file resolves to the path where that file would be created. A path that the kernel refuses to follow (a loop,
 * a folder without permission) is checked as written, and opening it fails later. Has no side effects.
 */
export function resolvePath(path: string, cwd: string): ResolvedPath {
  if (path === "") throw new ToolError("InvalidArguments", "Cannot use an empty path", { path });
  const absolute = isAbsolute(path) ? path : `${cwd}/${path}`;
  if (Buffer.byteLength(absolute) >= MAX_PATH) {
    throw new ToolError(
      "InvalidArguments",
      `Cannot use a path of ${absolute.length} characters: the system allows at most ${MAX_PATH}`,
    );
  }
  return follow(absolute, 0) ?? { real: resolve(absolute), exists: false };
}

/** Undefined if it cannot be resolved completely. */
function follow(absolute: string, links: number): ResolvedPath | undefined {
  if (links > MAX_LINKS) return undefined;
  const found = openAndAsk(absolute);
  return found === "missing" ? followMissing(absolute, links) : found;
}

function openAndAsk(absolute: string): ResolvedPath | "missing" | undefined {
  let fd: number;
  try {
    fd = openHandle(absolute);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? "missing" : undefined;
  }
  try {
    const real = realPathOf(fd);
    // The kernel appends " (deleted)" to an object without a name, which must not be checked as a real name.
    const gone = real.endsWith(" (deleted)") && fstatSync(fd).nlink === 0;
    return gone ? "missing" : { real, exists: true };
  } finally {
    closeSync(fd);
  }
}

function followMissing(absolute: string, links: number): ResolvedPath | undefined {
  const trimmed = absolute.replace(/\/+$/, "");
  const name = basename(trimmed);
  if (name === "" || name === "." || name === "..") return undefined; // not resolved in a missing folder
  const parent = follow(dirname(trimmed), links + 1);
  if (parent === undefined) return undefined;
  const target = parent.exists ? readLinkIn(parent.real, name) : undefined;
  if (target === undefined) return { real: join(parent.real, name), exists: false };
  return follow(isAbsolute(target) ? target : `${parent.real}/${target}`, links + 1);
}

/** The target of a link in a folder, or undefined if it is not a link. */
function readLinkIn(folder: string, name: string): string | undefined {
  try {
    return readlinkSync(`${folder}/${name}`);
  } catch {
    return undefined; // not a link, or not readable: the opened file is verified later in any case
  }
}
