import { accessSync, constants, realpathSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { isInside } from "../../paths/inside.ts";

interface ProgramRow {
  /** What it is needed for. */
  readonly use: string;
  /** What it may be called. */
  readonly names: readonly string[];
  /** It comes with the runtime; the one on the PATH is second best. */
  readonly bundled?: true;
  /** Whether anything is missing without it. */
  readonly needed: boolean;
  /** The command that installs it. */
  readonly install: string;
}

/** Programs of other people that the runtime calls. */
// oxfmt-ignore
export const PROGRAMS = {
  rg: { use: "grep and find",                   names: ["rg"],           bundled: true, needed: true,  install: "apt-get install ripgrep" },
  fd: { use: "folders, links and times in find", names: ["fd", "fdfind"],                needed: false, install: "apt-get install fd-find" },
  bash: { use: "commands",                      names: ["bash"],                         needed: true,  install: "apt-get install bash" },
  bwrap: { use: "the sandbox of commands",      names: ["bwrap"],                        needed: false, install: "apt-get install bubblewrap" },
} as const satisfies Record<string, ProgramRow>;
/** A name of `PROGRAMS`. */
export type ProgramName = keyof typeof PROGRAMS;

export interface ProgramOptions {
  /** The governed agent can write programs in these folders, so they are never called. */
  readonly roots: readonly string[];
  /** In the form of the PATH variable. Default: this process's own. */
  readonly path?: string;
}

/** Where a program really is, or undefined where it is not installed. */
export async function findProgram(name: ProgramName, options: ProgramOptions): Promise<string | undefined> {
  const row: ProgramRow = PROGRAMS[name];
  const bundled = row.bundled === true ? await findBundled() : undefined;
  return bundled ?? findOnPath(row.names, options);
}

/** As much the runtime's own as its code beside it, wherever that is installed. */
async function findBundled(): Promise<string | undefined> {
  try {
    const { rgPath } = await import("@vscode/ripgrep");
    return runnable(rgPath);
  } catch {
    return undefined; // no package exists for this platform, or it is not installed
  }
}

/** The first of these names that is on the path and may be called, by where it really is. */
export function findOnPath(
  names: readonly string[],
  { roots, path = process.env["PATH"] ?? "" }: ProgramOptions,
): string | undefined {
  for (const folder of path.split(delimiter)) {
    if (!isAbsolute(folder)) continue;
    for (const name of names) {
      const found = runnable(join(folder, name));
      if (found !== undefined && !roots.some((root) => isInside(root, found) || isInside(root, folder))) return found;
    }
  }
  return undefined;
}

function runnable(path: string): string | undefined {
  try {
    accessSync(path, constants.X_OK);
    return realpathSync(path);
  } catch {
    return undefined; // not there, or not to be run by us: look on
  }
}
