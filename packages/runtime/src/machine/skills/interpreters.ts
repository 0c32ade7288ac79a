import { accessSync, constants, realpathSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { isInside } from "../../paths/inside.ts";
import type { Interpreter } from "../../skills/interpreter.ts";

export interface InterpreterOptions {
  /** Programs in here may be the work of whoever is governed: they are never called. */
  readonly roots: readonly string[];
  /** In the form of the PATH variable. */
  readonly path: string;
}

/**
 * Where an interpreter is, or undefined where it is not installed. By the name on the PATH, not by where that leads: a
 * Python environment is told by the name that it is called by.
 */
export function findInterpreter(name: Interpreter, { roots, path }: InterpreterOptions): string | undefined {
  if (name === "node") return process.execPath; // the one that this runs on can read TypeScript, whatever else there is
  for (const folder of path.split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    const found = join(folder, name);
    const real = realOf(found);
    if (real !== undefined && !roots.some((root) => isInside(root, real) || isInside(root, found))) return found;
  }
  return undefined;
}

function realOf(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return realpathSync(path);
  } catch {
    return undefined; // not there, or not to be run by us: look on
  }
}
