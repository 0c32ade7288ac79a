import { accessSync, constants, realpathSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { isInside } from "../../paths/inside.ts";

interface ProgramRow {
  /** Its purpose. */
  readonly use: string;
  /** Its possible names. */
  readonly names: readonly string[];
  /** It is bundled with the runtime, and preferred to one on the PATH. */
  readonly bundled?: true;
  /** Whether a feature is unavailable without it. */
  readonly needed: boolean;
  /** The install command. */
  readonly install: string;
}

/** External programs that the runtime calls. */
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
  /** The agent can write to these folders, so programs in them are never called. */
  readonly roots: readonly string[];
  /** In PATH format. Default: this process's own. */
  readonly path?: string;
}

/** The real path of a program. Undefined if it is not installed. */
export async function findProgram(name: ProgramName, options: ProgramOptions): Promise<string | undefined> {
  const row: ProgramRow = PROGRAMS[name];
  const bundled = row.bundled === true ? await findBundled() : undefined;
  return bundled ?? findOnPath(row.names, options);
}

/** Trusted like the runtime's own code beside it, wherever that is installed. */
async function findBundled(): Promise<string | undefined> {
  try {
    const { rgPath } = await import("@vscode/ripgrep");
    return runnable(rgPath);
  } catch {
    return undefined; // no package exists for this platform, or it is not installed
  }
}

/** The real path of the first of these names that is on the PATH and may be called. */
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
    return undefined; // missing, or not executable for us: try the next one
  }
}
