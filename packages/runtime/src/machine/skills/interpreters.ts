import { accessSync, constants, realpathSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { isInside } from "../../paths/inside.ts";
import { ToolError } from "../../protocol/errors.ts";
import type { HowToRun } from "../../skills/interpreter.ts";

export interface InterpreterOptions {
  /** Programs in here may have been written by the agent: they are never called. */
  readonly roots: readonly string[];
  /** In the form of the PATH variable. */
  readonly path: string;
}

/** Other names of a program, tried where it is not installed under its own. */
const INSTEAD: ReadonlyMap<string, readonly string[]> = new Map([
  ["python3", ["python"]],
  ["python", ["python3"]],
  ["lua", ["lua5.4", "lua5.3"]],
]);

/** What to install for a program, where the package is not called as the program is. */
const PACKAGES: ReadonlyMap<string, string> = new Map([
  ["Rscript", "R"],
  ["python", "python3"],
]);

export function missingProgram(cannot: string, program: string): ToolError {
  return new ToolError("IOError", `${cannot}: ${JSON.stringify(program)} is not installed, or not on the PATH`, {
    program,
    hint: `Have a person install ${PACKAGES.get(program) ?? program}, or continue without the script.`,
  });
}

/**
 * Where an interpreter is, or undefined where it is not installed. By the name on the PATH, not by where that leads: a
 * Python environment is told by the name that it is called by.
 */
export function findInterpreter(name: string, options: InterpreterOptions): string | undefined {
  if (name === "node") return process.execPath; // the one that this runs on can read TypeScript, whatever else there is
  if (name.includes("/")) return isAbsolute(name) && isUsable(name, options) ? name : undefined;
  const folders = options.path.split(delimiter).filter((folder) => isAbsolute(folder));
  for (const each of [name, ...(INSTEAD.get(name) ?? [])]) {
    const found = folders.map((folder) => join(folder, each)).find((path) => isUsable(path, options));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The PATH of a script: without folders of the workspace, so that what it starts by name is not from there either. */
export function pathOutsideRoots(options: InterpreterOptions): string {
  const folders = options.path.split(delimiter).filter((folder) => isAbsolute(folder) && isUsable(folder, options));
  return folders.join(delimiter) || SYSTEM_PATH;
}

const SYSTEM_PATH = "/usr/bin:/bin";

/** The first way whose program is installed, as what stands before the script's own arguments. */
export function findWay(
  ways: readonly HowToRun[],
  options: InterpreterOptions,
): { readonly before: readonly string[] } | undefined {
  for (const { itself, program, args } of ways) {
    const found = program === undefined ? undefined : findInterpreter(program, options);
    // By a name, as in `#!/usr/bin/env python3`, the system could find a program of the workspace: that is called by path.
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
    return undefined; // not there, or not to be run by us: look on
  }
}
