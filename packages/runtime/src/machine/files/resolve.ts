import { closeSync, fstatSync, readlinkSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { ToolError } from "../../protocol/errors.ts";
import { openHandle, realPathOf } from "./handle.ts";

export interface Resolved {
  /** Absolute; for something that is missing, its nearest existing folder and the names below it. */
  readonly real: string;
  readonly exists: boolean;
}

const MAX_LINKS = 40; // as the kernel has it
const MAX_PATH = 4096;

/**
 * Where a path really leads, as the kernel sees it: links, `..` after a link, `/proc/self/root` and all. A link to
 * something that is missing leads to where that would be made. What the kernel will not follow (a loop, a folder that
 * may not be entered) is taken by its spelling: it is judged by that, and opening it fails later. Changes nothing.
 */
export function resolvePath(path: string, cwd: string): Resolved {
  if (path === "") throw new ToolError("InvalidArguments", "Cannot use a path that is empty", { path });
  const absolute = isAbsolute(path) ? path : `${cwd}/${path}`;
  if (Buffer.byteLength(absolute) >= MAX_PATH) {
    throw new ToolError(
      "InvalidArguments",
      `Cannot use a path of ${absolute.length} characters: the system takes at most ${MAX_PATH}`,
    );
  }
  return follow(absolute, 0) ?? { real: resolve(absolute), exists: false };
}

/** Undefined where it cannot be followed to an end. */
function follow(absolute: string, links: number): Resolved | undefined {
  if (links > MAX_LINKS) return undefined;
  const found = openAndAsk(absolute);
  return found === "missing" ? followMissing(absolute, links) : found;
}

function openAndAsk(absolute: string): Resolved | "missing" | undefined {
  let fd: number;
  try {
    fd = openHandle(absolute);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ENOTDIR" ? "missing" : undefined;
  }
  try {
    const real = realPathOf(fd);
    // The kernel marks an object that has no name any more; it would be judged by a name that it does not have.
    const gone = real.endsWith(" (deleted)") && fstatSync(fd).nlink === 0;
    return gone ? "missing" : { real, exists: true };
  } finally {
    closeSync(fd);
  }
}

function followMissing(absolute: string, links: number): Resolved | undefined {
  const trimmed = absolute.replace(/\/+$/, "");
  const name = basename(trimmed);
  if (name === "" || name === "." || name === "..") return undefined; // the kernel does not go up from what is missing
  const parent = follow(dirname(trimmed), links + 1);
  if (parent === undefined) return undefined;
  const target = parent.exists ? readLinkIn(parent.real, name) : undefined;
  if (target === undefined) return { real: join(parent.real, name), exists: false };
  return follow(isAbsolute(target) ? target : `${parent.real}/${target}`, links + 1);
}

/** The target of a link in a folder, or undefined where there is no such link. */
function readLinkIn(folder: string, name: string): string | undefined {
  try {
    return readlinkSync(`${folder}/${name}`);
  } catch {
    return undefined; // no link, or none that may be read: either way what is opened later is verified then
  }
}
