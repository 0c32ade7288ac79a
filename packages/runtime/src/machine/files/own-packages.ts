import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync } from "node:fs";
import type { Dirent } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { isInside } from "../../paths/inside.ts";
import { isCacheName } from "../../policy/package-caches.ts";

const OWN_PACKAGES: ReadonlySet<unknown> = new Set(["autonous", "@autonous/runtime"]);
const MODULES = "node_modules";

/** The package of ours that a file belongs to. */
export function ownPackage(file: string): readonly string[] {
  for (let folder = dirname(realOf(file) ?? "/"); folder !== "/"; folder = dirname(folder)) {
    // A manifest without a name only says how files are read.
    const name = manifestOf(folder)?.["name"];
    if (name !== undefined) return OWN_PACKAGES.has(name) ? [folder] : [];
  }
  return [];
}

/** Where Node.js looks for what a package imports, nearest first, by name and by where that leads. */
export function modulesAbove(folder: string): readonly string[] {
  const found: string[] = [];
  for (let above = folder; ; above = dirname(above)) {
    if (basename(above) !== MODULES) found.push(...bothNames(join(above, MODULES)));
    if (above === "/") return found;
  }
}

/** Where `require` looks last of all. */
export function globalModules({ HOME, NODE_PATH }: NodeJS.ProcessEnv, node: string): readonly string[] {
  const named = (NODE_PATH ?? "").split(":").filter((path) => path !== "");
  const homes = HOME === undefined ? [] : [join(HOME, ".node_modules"), join(HOME, ".node_libraries")];
  return [...named.map((path) => resolve(path)), ...homes, join(dirname(node), "../lib/node")].flatMap(bothNames);
}

/** Options of Node.js that name a file which it loads before the program: by its path, or as an address of one. */
const LOADED_BEFORE =
  /(?:^|\s)"?(?:-r|--require|--import|--loader|--experimental-loader)[\s="]+((?:file:\/\/|\.{0,2}\/)[^\s"]*)/g;

/** Code that variables name: what is loaded before the program, and where Node.js keeps what it compiled of it. */
export function namedCode({ NODE_OPTIONS = "", NODE_COMPILE_CACHE = "", LD_PRELOAD = "" }: NodeJS.ProcessEnv) {
  const files = Array.from(NODE_OPTIONS.matchAll(LOADED_BEFORE), ([, file = ""]) => file.replace(/^file:\/\//, ""));
  // Without a slash the system looks for a library elsewhere.
  const libraries = LD_PRELOAD.split(/[:\s]+/).filter((path) => path.includes("/"));
  const named = [...files, ...libraries, ...(NODE_COMPILE_CACHE === "" ? [] : [NODE_COMPILE_CACHE])];
  return named.flatMap((path) => bothNames(resolve(path)));
}

/** The search program that comes with a package. */
export function searchPrograms(folder: string): readonly string[] {
  return modulesAbove(folder).flatMap((modules) => {
    const scope = join(modules, "@vscode");
    return entriesIn(scope).flatMap(({ name }) => {
      const real = name.startsWith("ripgrep") ? realOf(join(scope, name)) : undefined;
      return real === undefined ? [] : [real];
    });
  });
}

/** Packages that are followed. A program with more of them is not this one. */
const MOST_PACKAGES = 4096;

/**
 * What the packages depend on and a link in `node_modules` leads to elsewhere, with the folders that it imports from in
 * turn. Packages are followed only where a link leads to a place that is asked for: any link of a program that lies in such
 * a place itself, else one to what it depends on directly.
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

/** The real folders of packages and of all that they depend on, as far as it is installed. */
function withDependencies(packages: readonly string[]): ReadonlySet<string> {
  const found = new Set(packages);
  // The set grows while it is walked.
  for (const folder of found) {
    if (found.size > MOST_PACKAGES) break;
    for (const real of importedBy(folder)) found.add(real);
  }
  return found;
}

/**
 * Folders in `node_modules` that have the name of a cache, and that the program loads packages from: a package manager
 * that is not known here may keep them there, and link to them.
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
  // Only a link leads there. Where none does, what the packages depend on need not be followed.
  if (!caches.some((cache) => isStore(cache, linked))) return [];
  const loaded = [...linked, ...withDependencies(packages)];
  return caches.filter((cache) => isStore(cache, loaded));
}

/** Where links in folders of packages lead, and those in the folders of packages that belong to one package. */
function linksBelow(modules: readonly string[]): readonly string[] {
  const folders = new Set(modules);
  const found: string[] = [];
  // The set grows while it is walked.
  for (const folder of folders) {
    if (folders.size > MOST_PACKAGES) break;
    const links = linksIn(folder);
    found.push(...links);
    for (const path of [...links, ...packagesIn(folder)]) {
      const own = join(path, MODULES);
      if (existsSync(own)) folders.add(own);
    }
  }
  return found;
}

/** The folders of packages in a folder of packages, those of scopes included. */
function packagesIn(modules: string): readonly string[] {
  return entriesIn(modules).flatMap((entry) => {
    if (!entry.isDirectory() || entry.name.startsWith(".")) return [];
    const path = join(modules, entry.name);
    return entry.name.startsWith("@") ? packagesIn(path) : [path];
  });
}

/** Where links in a folder of packages lead, those of scopes included. */
function linksIn(modules: string): readonly string[] {
  return entriesIn(modules).flatMap((entry) => {
    const path = join(modules, entry.name);
    if (entry.isSymbolicLink()) return realOf(path) ?? [];
    return entry.name.startsWith("@") ? linksIn(path) : [];
  });
}

/** The real folders of what a package depends on, as far as it is installed. */
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
    return undefined; // not valid, and so not ours
  }
}

function bothNames(path: string): readonly string[] {
  // Most are not there, and an error costs more than this look.
  const real = existsSync(path) ? (realOf(path) ?? path) : path;
  return real === path ? [path] : [path, real];
}

function entriesIn(folder: string): readonly Dirent[] {
  if (!existsSync(folder)) return [];
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // not a folder, or out of reach
  }
}

export function realOf(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined; // not there, or not started from a file, as with --eval
  }
}

/** What a link says; undefined where the path is not a link. */
export function targetOf(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch {
    return undefined; // not there, or out of reach
  }
}
