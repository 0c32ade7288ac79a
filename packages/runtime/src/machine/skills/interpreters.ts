import { accessSync, constants, realpathSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { isInside } from "../../paths/inside.ts";
import { ToolError } from "../../protocol/errors.ts";
import type { HowToRun } from "../../skills/interpreter.ts";

export interface InterpreterOptions {
  /** Programs in the roots may have been written by the agent: they are never run. */
  readonly roots: readonly string[];
  /** In the format of the PATH variable. */
  readonly path: string;
}

/** Alternative names, tried if a program is not installed under its usual name. */
const INSTEAD: ReadonlyMap<string, readonly string[]> = new Map([
  ["python3", ["python"]],
  ["python", ["python3"]],
  ["lua", ["lua5.4", "lua5.3"]],
]);

/** Package names that differ from the program name. */
const PACKAGES: ReadonlyMap<string, string> = new Map([
  ["Rscript", "R"],
  ["python", "python3"],
]);

export function missingProgram(cannot: string, program: string): ToolError {
  return new ToolError("IOError", `${cannot}: ${JSON.stringify(program)} is not installed, or not on the PATH`, {
    program,
    hint: `Ask the user to install ${PACKAGES.get(program) ?? program}, or continue without the script.`,
  });
}

/**
 * Path of an interpreter, or undefined if it is not installed. Links are not resolved, because Python recognizes a
 * virtual environment by the path it is started with.
 */
export function findInterpreter(name: string, options: InterpreterOptions): string | undefined {
  if (name === "node") return process.execPath; // this version of Node.js can run TypeScript
  if (name.includes("/")) return isAbsolute(name) && isUsable(name, options) ? name : undefined;
  const folders = options.path.split(delimiter).filter((folder) => isAbsolute(folder));
  for (const each of [name, ...(INSTEAD.get(name) ?? [])]) {
    const found = folders.map((folder) => join(folder, each)).find((path) => isUsable(path, options));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The PATH for a script: without workspace folders, so that it does not start programs from there by name. */
export function pathOutsideRoots(options: InterpreterOptions): string {
  const folders = options.path.split(delimiter).filter((folder) => isAbsolute(folder) && isUsable(folder, options));
  return folders.join(delimiter) || SYSTEM_PATH;
}

const SYSTEM_PATH = "/usr/bin:/bin";

/** The first way whose program is installed, as the part of the command line before the script's own arguments. */
export function findWay(
  ways: readonly HowToRun[],
  options: InterpreterOptions,
): { readonly before: readonly string[] } | undefined {
  for (const { itself, program, args } of ways) {
    const found = program === undefined ? undefined : findInterpreter(program, options);
    // With a name, as in `#!/usr/bin/env python3`, the system could find a program in the workspace, so use its path.
    if (program === undefined || (itself && found !== undefined && program.includes("/"))) return { before: [] };
    if (found !== undefined) return { before: [found, ...args] };
  }
  return undefined;
}

function isUsable(path: string, { roots }: InterpreterOptions): boolean {
  const real = realOf(path);
  return real !== undefined && !roots.some((root) => isInside(root, real) || isInside(root, path));
}

function realOf(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return realpathSync(path);
  } catch {
    return undefined; // missing, or not executable for this user: try the next
  }
}
