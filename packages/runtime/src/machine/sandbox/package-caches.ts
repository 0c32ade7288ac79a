import { existsSync, lstatSync, mkdirSync, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { isInside } from "../../paths/inside.ts";
import type { Places } from "../../policy/facts.ts";
import { isCacheName, mayHoldCaches } from "../../policy/package-caches.ts";
import { isSystemError } from "../files/system-error.ts";
import { isCacheAmong } from "./named-places.ts";

type Ground = Pick<Places, "roots" | "git_places">;

/** Caches that tools make in `node_modules`, with packages that tell that a project uses the tool. */
// oxfmt-ignore
const MADE: readonly { readonly name: string; readonly of?: readonly string[] }[] = [
  { name: ".cache" }, // babel, eslint, webpack, prettier, turbo and others
  { name: ".vite",             of: ["vite", "vitest", "rolldown-vite"] },
  { name: ".vite-temp",        of: ["vite", "vitest", "rolldown-vite"] },
  { name: ".vitest",           of: ["vitest"] },
  { name: ".tmp",              of: ["typescript", "vite"] }, // `tsBuildInfoFile` in the templates of Vite
  { name: ".astro",            of: ["astro"] },
  { name: ".vue-global-types", of: ["vue-tsc", "@vue/language-core"] },
];

/**
 * Makes the caches that tools would make in folders of packages that commands cannot write to: nothing can be made there
 * from inside a sandbox. Before the look at the workspace, so that they are not taken for a change of the command.
 */
export function makePackageCaches(ground: Ground): void {
  for (const modules of packageFolders(ground)) {
    for (const { name, of } of MADE) {
      const path = join(modules, name);
      if (of?.some((each) => existsSync(join(modules, each))) === false) continue;
      try {
        if (lstatSync(path, { throwIfNoEntry: false }) === undefined) mkdirSync(path);
      } catch (error) {
        // Where we may not make it, the folder is not writable for commands of this user either, sandbox or not.
        if (!isSystemError(error)) throw error;
      }
    }
  }
}

/** Real folders of packages in the roots. */
function packageFolders({ roots, git_places = [] }: Ground): readonly string[] {
  return git_places
    .filter(mayHoldCaches)
    .map(({ path }) => path)
    .filter((path) => roots.some((root) => isInside(root, path)) && isRealFolder(path));
}

function isRealFolder(path: string): boolean {
  try {
    return lstatSync(path).isDirectory() && realpathSync.native(path) === path;
  } catch {
    return false; // not there, or out of our reach
  }
}

interface ClosedPaths {
  readonly read_only: readonly string[];
  readonly ruled: readonly string[];
}

/** Folders of packages that a command cannot write to, because this program loads what is in them. */
export function closedPackages({ read_only }: Pick<ClosedPaths, "read_only">, ground: Ground): readonly string[] {
  const closed = new Set(read_only);
  return packageFolders(ground).filter((modules) => closed.has(modules));
}

/**
 * Caches in those folders: a command may write to them. None that holds what this program loads, that is a link, or that
 * a rule closes.
 */
export function openCaches({ read_only, ruled }: ClosedPaths, ground: Ground): readonly string[] {
  return closedPackages({ read_only }, ground)
    .flatMap(cachesIn)
    .filter((path) => isCacheAmong(path, ground) && !ruled.some((each) => isInside(each, path)));
}

function cachesIn(modules: string): readonly string[] {
  if (!isOpen(modules)) return [];
  try {
    return readdirSync(modules, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && isCacheName(entry.name))
      .map(({ name }) => join(modules, name))
      .filter(isOpen);
  } catch (error) {
    if (isSystemError(error)) return []; // not to be listed by us, or gone meanwhile: nothing of it is opened
    throw error;
  }
}

/**
 * Whether a command can enter and list it: else checking it would fail. By its mode, since root has no rights beyond it in
 * a sandbox.
 */
function isOpen(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return false; // gone meanwhile
  const groups = [process.getegid?.(), ...(process.getgroups?.() ?? [])];
  const shift = stats.uid === process.geteuid?.() ? 6 : groups.includes(stats.gid) ? 3 : 0;
  return ((stats.mode >> shift) & READ_AND_ENTER) === READ_AND_ENTER;
}

const READ_AND_ENTER = 0o5;
