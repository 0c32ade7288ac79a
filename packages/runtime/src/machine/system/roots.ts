import { isAbsolute, resolve } from "node:path";
import { closeSync, fstatSync } from "node:fs";
import { openHandle, realPathOf } from "./handle.ts";

export interface Roots {
  /** Real paths of the roots, without duplicates. */
  readonly roots: readonly string[];
  readonly problems: readonly string[];
}

/** Splits the comma-separated `AUTONOUS_TOOL_ALLOWED_ROOTS`. Empty parts are kept, so that they are reported. */
export function splitRoots(text: string): string[] {
  return text.split(",").map((part) => part.trim());
}

/** Checks roots (spec 3, Paths) and resolves their real paths. Reports every problem, not only the first. */
export function checkRoots(paths: readonly string[]): Roots {
  const roots = new Set<string>();
  const problems: string[] = [];
  if (paths.length === 0) problems.push("no root given; at least one folder is required");
  for (const path of paths) {
    const found = checkRoot(path);
    if ("problem" in found) problems.push(found.problem);
    else roots.add(found.real);
  }
  return { roots: [...roots], problems };
}

function checkRoot(path: string): { readonly real: string } | { readonly problem: string } {
  if (path === "") return { problem: "a root is empty" };
  if (path.includes("\0")) return { problem: `the root ${JSON.stringify(path)} contains a NUL character` };
  if (!isAbsolute(path)) return { problem: `the root "${path}" is not an absolute path` };
  let fd: number;
  try {
    fd = openHandle(resolve(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return {
      problem:
        code === "ENOENT" ? `the root "${path}" does not exist` : `the root "${path}" cannot be opened (${code})`,
    };
  }
  try {
    return fstatSync(fd).isDirectory() ? { real: realPathOf(fd) } : { problem: `the root "${path}" is not a folder` };
  } finally {
    closeSync(fd);
  }
}
