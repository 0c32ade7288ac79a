import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { isInside } from "../../paths/inside.ts";
import { HOME_TOOLS } from "../../policy/commands/command-view.ts";
import type { GitPlaces, Places } from "../../policy/facts.ts";
import {
  globalModules,
  linkedDependencies,
  modulesAbove,
  namedCode,
  ownPackage,
  realOf,
  searchPrograms,
  storesAmong,
  targetOf,
} from "./own-packages.ts";

type ProgramPlace = GitPlaces[number];

/** How this program was started: paths as given, with links unresolved. */
export interface ProgramStart {
  /** The files that it runs; they identify its own packages. */
  readonly files: readonly string[];
  readonly node: string;
  /** The name under which the launcher was started. */
  readonly started_as?: string | undefined;
  /** Environment variables: `PATH`, and those that tell Node.js where to look for packages. */
  readonly environment: NodeJS.ProcessEnv;
}

/**
 * Parts of this program and of the user's toolchains inside the roots: the next start runs them outside the sandbox. A
 * project may have the program in `node_modules`; a root that contains the home folder contains everything. Some of
 * these paths do not exist yet: a file created there would be loaded before, or in addition to, the current ones.
 */
export function programPlaces(
  { roots, home }: Pick<Places, "roots" | "home">,
  start: ProgramStart = thisStart(),
): GitPlaces {
  const isBelow = (path: string): boolean => roots.some((root) => root !== path && isInside(root, path));
  // In a root inside the program's own folder, every path belongs to the program.
  const isNear = (path: string): boolean => isBelow(path) || roots.some((root) => isInside(path, root));
  const packages = [...new Set(start.files.flatMap(ownPackage))];
  const node = realOf(start.node) ?? start.node;
  const named = namedCode(start.environment).filter(isBelow);
  const programs = [node, ...packages, ...startLinks(start, roots), ...packages.flatMap(searchPrograms), ...named];
  const modules = packages.flatMap(modulesAbove);
  const loaded = [
    ...modules,
    ...storesAmong([...new Set(modules.filter(isNear))], packages),
    ...globalModules(start.environment, node),
    ...packages.flatMap(cloneFiles),
  ];
  const linked = linkedDependencies(packages, isNear);
  const tools = roots.some((root) => isInside(root, home)) ? HOME_TOOLS.map((name) => join(home, name)) : [];
  const why = "this program runs it";
  return [
    ...[...new Set([...programs, ...startFolders(start, packages, roots)])]
      .filter(isNear)
      .map((path): ProgramPlace => ({ path, why, is_program: true })),
    ...[...new Set([...loaded, ...linked])]
      .filter(isNear)
      .map((path): ProgramPlace => ({ path, why, is_program: true, is_packages: true })),
    ...tools
      .filter((path) => existsSync(path) && isBelow(path))
      .map((path): ProgramPlace => ({ path, why: "it is a toolchain in the home folder", is_program: true })),
  ];
}

/** Like `programPlaces`, plus the files that the host declares as its own code. */
export function hostPlaces(workspace: Pick<Places, "roots" | "home">, own: readonly string[] = []): GitPlaces {
  const why = "this program loads it as its own code";
  return [...programPlaces(workspace), ...own.map((path): ProgramPlace => ({ path, why, is_program: true }))];
}

function thisStart(): ProgramStart {
  return {
    files: [import.meta.filename, process.argv[1] ?? ""],
    node: process.execPath,
    started_as: process.env["AUTONOUS_STARTED_AS"],
    environment: process.env,
  };
}

/** In a clone: the files that define what is installed, and the script that `npm start` runs. */
const CLONE_FILES = ["package.json", "package-lock.json", "npm-shrinkwrap.json", "scripts/start.ts"];

function cloneFiles(folder: string): readonly string[] {
  const top = dirname(dirname(folder));
  if (basename(dirname(folder)) !== "packages" || !existsSync(join(folder, "src"))) return [];
  return CLONE_FILES.map((name) => join(top, name));
}

/** Program names that a start looks up on the PATH. */
const STARTED = ["autonous", "node"];

/**
 * The paths in the roots where those names are looked up, existing or not. A link cannot be mounted read-only, so the
 * folder of a link to this program is protected as a whole, unless it is a root.
 */
function startFolders(
  { environment, node }: ProgramStart,
  packages: readonly string[],
  roots: readonly string[],
): readonly string[] {
  const own = [...packages, realOf(node) ?? node];
  const named = (environment["PATH"] ?? "").split(":").map((folder) => resolve(folder));
  const folders = [...new Set([...named, ...packages.flatMap(prefixFolder)])].filter((folder) =>
    roots.some((root) => isInside(root, folder) || isInside(root, realOf(folder) ?? folder)),
  );
  return folders.flatMap((folder) => {
    const real = realOf(folder) ?? folder;
    const paths = STARTED.map((name) => join(real, name));
    const leadsHere = (link: string): boolean =>
      targetOf(link) !== undefined && own.some((each) => isInside(each, realOf(link) ?? ""));
    const isClosed = paths.some(leadsHere) && !roots.some((root) => isInside(real, root));
    return [...linksOn(folder), ...(isClosed ? [real] : paths)];
  });
}

/** `npm install --global` links programs from `lib/node_modules` into `bin` of the same prefix. */
function prefixFolder(folder: string): readonly string[] {
  const [, prefix] = /^(.*)\/lib\/node_modules\/(?:[^/]+\/node_modules\/)?(?:@[^/]+\/)?[^/]+$/s.exec(folder) ?? [];
  return prefix === undefined ? [] : [join(prefix, "bin")];
}

/** The links in the roots on the paths by which the program was started. */
function startLinks({ files, node, started_as }: ProgramStart, roots: readonly string[]): readonly string[] {
  const names = [...files, node, ...(started_as === undefined ? [] : [started_as])].filter((name) => name !== "");
  return names
    .flatMap((name) => linksOn(resolve(name)))
    .map((link) => {
      const folder = dirname(link);
      const isBin = basename(folder) === "bin" && !roots.some((root) => isInside(folder, root));
      return isBin ? folder : link;
    });
}

/** Maximum number of links followed for a path, as in the kernel. */
const MAX_LINKS = 40;

/** Every link on a path, each with its real folder. */
function linksOn(path: string): readonly string[] {
  const found: string[] = [];
  let real = "/";
  const names = path.split("/").filter((name) => name !== "");
  for (let name = names.shift(); name !== undefined; name = names.shift()) {
    const next = resolve(real, name);
    const target = found.length < MAX_LINKS ? targetOf(next) : undefined;
    if (target === undefined) real = next;
    else {
      found.push(next);
      if (target.startsWith("/")) real = "/";
      names.unshift(...target.split("/").filter((each) => each !== ""));
    }
  }
  return found;
}
