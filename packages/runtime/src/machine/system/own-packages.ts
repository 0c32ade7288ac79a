import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync } from "node:fs";
import type { Dirent } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { isInside } from "../../paths/inside.ts";
import { isCacheName } from "../../policy/paths/cache-folders.ts";

const OWN_PACKAGES: ReadonlySet<unknown> = new Set(["autonous", "@autonous/runtime"]);
const MODULES = "node_modules";

/** The Autonous package that contains a file. */
export function ownPackage(file: string): readonly string[] {
  for (let folder = dirname(realOf(file) ?? "/"); folder !== "/"; folder = dirname(folder)) {
    // A manifest without a name only sets the module type.
    const name = manifestOf(folder)?.["name"];
    if (name !== undefined) return OWN_PACKAGES.has(name) ? [folder] : [];
  }
  return [];
}

/** The folders where Node.js looks for a package's imports, nearest first, with their real paths. */
export function modulesAbove(folder: string): readonly string[] {
  const found: string[] = [];
  for (let above = folder; ; above = dirname(above)) {
    if (basename(above) !== MODULES) found.push(...bothNames(join(above, MODULES)));
    if (above === "/") return found;
  }
}

/** The folders that `require` searches last. */
export function globalModules({ HOME, NODE_PATH }: NodeJS.ProcessEnv, node: string): readonly string[] {
  const named = (NODE_PATH ?? "").split(":").filter((path) => path !== "");
  const homes = HOME === undefined ? [] : [join(HOME, ".node_modules"), join(HOME, ".node_libraries")];
  return [...named.map((path) => resolve(path)), ...homes, join(dirname(node), "../lib/node")].flatMap(bothNames);
}

/** Node.js options that name a file to load before the program, by path or URL. */
const LOADED_BEFORE =
  /(?:^|\s)"?(?:-r|--require|--import|--loader|--experimental-loader)[\s="]+((?:file:\/\/|\.{0,2}\/)[^\s"]*)/g;

/** Code named by environment variables: preloaded files, and the compile cache of Node.js. */
export function namedCode({ NODE_OPTIONS = "", NODE_COMPILE_CACHE = "", LD_PRELOAD = "" }: NodeJS.ProcessEnv) {
  const files = Array.from(NODE_OPTIONS.matchAll(LOADED_BEFORE), ([, file = ""]) => file.replace(/^file:\/\//, ""));
  // A name without a slash is searched in the system's library folders.
  const libraries = LD_PRELOAD.split(/[:\s]+/).filter((path) => path.includes("/"));
  const named = [...files, ...libraries, ...(NODE_COMPILE_CACHE === "" ? [] : [NODE_COMPILE_CACHE])];
  return named.flatMap((path) => bothNames(resolve(path)));
}

/** The search program bundled with a package. */
export function searchPrograms(folder: string): readonly string[] {
  return modulesAbove(folder).flatMap((modules) => {
    const scope = join(modules, "@vscode");
    return entriesIn(scope).flatMap(({ name }) => {
      const real = name.startsWith("ripgrep") ? realOf(join(scope, name)) : undefined;
      return real === undefined ? [] : [real];
    });
  });
}

/** Maximum number of packages to follow. This program has fewer. */
const MAX_PACKAGES = 4096;

/**
 * Dependencies that are linked from `node_modules` to another folder, with the folders that they import from. Packages
 * are followed only if a link leads to one of the given places: any link if the program itself is in such a place, else
 * only links to its direct dependencies.
 */
export function linkedDependencies(
  packages: readonly string[],
  isAskedFor: (path: string) => boolean,
): readonly string[] {
  const modules = new Set(packages.flatMap(modulesAbove));
  const isElsewhere = (path: string): boolean =>
    ![...modules, ...packages].some((each) => isInside(each, path)) && isAskedFor(path);
  const targets = [...modules].some(isAskedFor) ? [...modules].flatMap(linksIn) : packages.flatMap(importedBy);
  if (!targets.some(isElsewhere)) return [];
  return [...withDependencies(packages)].filter(isElsewhere).flatMap((folder) => [folder, ...modulesAbove(folder)]);
}

/** The real folders of packages and of all their installed dependencies. */
function withDependencies(packages: readonly string[]): ReadonlySet<string> {
  const found = new Set(packages);
  // The set grows during the iteration.
  for (const folder of found) {
    if (found.size > MAX_PACKAGES) break;
    for (const real of importedBy(folder)) found.add(real);
  }
  return found;
}

/**
 * Folders in `node_modules` that are named like a cache but that the program loads packages from: a package manager
 * that is unknown here may store packages there and link to them.
 */
export function storesAmong(modules: readonly string[], packages: readonly string[]): readonly string[] {
  const caches = modules
    .filter((path) => basename(path) === MODULES)
    .flatMap((path) =>
      entriesIn(path)
        .filter((entry) => isCacheName(entry.name) && !entry.isFile())
        .map(({ name }) => join(path, name)),
    );
  const isStore = (cache: string, loaded: readonly string[]): boolean =>
    loaded.some((path) => isInside(realOf(cache) ?? cache, path));
  const linked = caches.length === 0 ? [] : [...packages, ...linksBelow(modules)];
  // Such a store is reached only through links. Without one, the dependencies need not be followed.
  if (!caches.some((cache) => isStore(cache, linked))) return [];
  const loaded = [...linked, ...withDependencies(packages)];
  return caches.filter((cache) => isStore(cache, loaded));
}

/** The targets of links in `node_modules` folders, including the nested ones of packages. */
function linksBelow(modules: readonly string[]): readonly string[] {
  const folders = new Set(modules);
  const found: string[] = [];
  // The set grows while it is walked.
  for (const folder of folders) {
    if (folders.size > MAX_PACKAGES) break;
    const links = linksIn(folder);
    found.push(...links);
    for (const path of [...links, ...packagesIn(folder)]) {
      const own = join(path, MODULES);
      if (existsSync(own)) folders.add(own);
    }
  }
  return found;
}

/** The package folders in a `node_modules` folder, including scoped ones. */
function packagesIn(modules: string): readonly string[] {
  return entriesIn(modules).flatMap((entry) => {
    if (!entry.isDirectory() || entry.name.startsWith(".")) return [];
    const path = join(modules, entry.name);
    return entry.name.startsWith("@") ? packagesIn(path) : [path];
  });
}

/** The targets of links in a `node_modules` folder, including scoped ones. */
function linksIn(modules: string): readonly string[] {
  return entriesIn(modules).flatMap((entry) => {
    const path = join(modules, entry.name);
    if (entry.isSymbolicLink()) return realOf(path) ?? [];
    return entry.name.startsWith("@") ? linksIn(path) : [];
  });
}

/** The real folders of a package's installed dependencies. */
function importedBy(folder: string): readonly string[] {
  const modules = modulesAbove(folder).filter((path) => existsSync(path));
  return dependenciesOf(folder).flatMap((name) => {
    const nearest = modules.map((path) => join(path, name)).find((path) => existsSync(path));
    return nearest === undefined ? [] : (realOf(nearest) ?? []);
  });
}

const DEPENDENCIES = ["dependencies", "optionalDependencies", "peerDependencies"];

function dependenciesOf(folder: string): readonly string[] {
  const manifest = manifestOf(folder) ?? {};
  return DEPENDENCIES.flatMap((field) => Object.keys((manifest[field] as object | null | undefined) ?? {}));
}

function manifestOf(folder: string): Readonly<Record<string, unknown>> | undefined {
  const file = join(folder, "package.json");
  if (!existsSync(file)) return undefined;
  try {
    const read: unknown = JSON.parse(readFileSync(file, "utf8"));
    return typeof read === "object" && read !== null ? (read as Record<string, unknown>) : undefined;
  } catch {
    return undefined; // invalid, so not one of our packages
  }
}

function bothNames(path: string): readonly string[] {
  // Most paths do not exist, and an exception costs more than this check.
  const real = existsSync(path) ? (realOf(path) ?? path) : path;
  return real === path ? [path] : [path, real];
}

function entriesIn(folder: string): readonly Dirent[] {
  if (!existsSync(folder)) return [];
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // not a folder, or not accessible
  }
}

export function realOf(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined; // missing, or not started from a file, as with --eval
  }
}

/** The target of a link; undefined if the path is not a link. */
export function targetOf(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch {
    return undefined; // missing or not accessible
  }
}
