import { existsSync, lstatSync, mkdirSync, readdirSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { isInside } from "../../paths/inside.ts";
import type { Places } from "../../policy/facts.ts";
import { isCacheName, mayHoldCaches } from "../../policy/paths/cache-folders.ts";
import { isSystemError } from "../system/system-error.ts";
import { isCacheAmong } from "./named-places.ts";

type CacheRoots = Pick<Places, "roots" | "git_places">;

/** Caches that tools create in `node_modules`, with packages that show that a project uses the tool. */
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
 * Creates the caches that tools would create in read-only package folders, where nothing can be created from inside a
 * sandbox. Called before the snapshot of the workspace, so that they do not count as a change of the command.
 */
export function makePackageCaches(ground: CacheRoots): void {
  for (const modules of packageFolders(ground)) {
    for (const { name, of } of MADE) {
      const path = join(modules, name);
      if (of?.some((each) => existsSync(join(modules, each))) === false) continue;
      try {
        if (lstatSync(path, { throwIfNoEntry: false }) === undefined) mkdirSync(path);
      } catch (error) {
        // If we may not create it, the folder is not writable for commands of this user either, even without a sandbox.
        if (!isSystemError(error)) throw error;
      }
    }
  }
}

/** Real package folders in the roots. */
function packageFolders({ roots, git_places = [] }: CacheRoots): readonly string[] {
  return git_places
    .filter(mayHoldCaches)
    .map(({ path }) => path)
    .filter((path) => roots.some((root) => isInside(root, path)) && isRealFolder(path));
}

function isRealFolder(path: string): boolean {
  try {
    return lstatSync(path).isDirectory() && realpathSync.native(path) === path;
  } catch {
    return false; // missing, or not accessible to us
  }
}

interface ClosedPaths {
  readonly read_only: readonly string[];
  readonly ruled: readonly string[];
}

/** Package folders that a command cannot write to, because this program loads packages from them. */
export function closedPackages({ read_only }: Pick<ClosedPaths, "read_only">, ground: CacheRoots): readonly string[] {
  const closed = new Set(read_only);
  return packageFolders(ground).filter((modules) => closed.has(modules));
}

/**
 * Caches in those folders that a command may write to. Without those that contain packages that this program loads, that
 * are links, or that a rule closes.
 */
export function openCaches({ read_only, ruled }: ClosedPaths, ground: CacheRoots): readonly string[] {
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
    if (isSystemError(error)) return []; // not readable for us, or gone: nothing in it is opened
    throw error;
  }
}

/**
 * Whether a command can enter and list it: else the check inside would fail. Decided by its mode, since root has no
 * further rights in a sandbox.
 */
function isOpen(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return false; // gone meanwhile
  const groups = [process.getegid?.(), ...(process.getgroups?.() ?? [])];
  const shift = stats.uid === process.geteuid?.() ? 6 : groups.includes(stats.gid) ? 3 : 0;
  return ((stats.mode >> shift) & READ_AND_ENTER) === READ_AND_ENTER;
}

const READ_AND_ENTER = 0o5;
