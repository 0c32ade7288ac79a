import { lstatSync, readdirSync, readlinkSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { isInside } from "../../paths/inside.ts";
import { judgeSensitivity } from "../../policy/paths/check-path.ts";
import {
  HOME_PACKAGES,
  HOME_TOOLS,
  OFFLINE_VARIABLES,
  PROGRAM_FOLDERS,
  UNSEEN_FOLDERS,
} from "../../policy/commands/command-view.ts";
import type { CommandView } from "../../policy/commands/command-view.ts";
import type { Places } from "../../policy/facts.ts";
import type { ShownPlace } from "./stray-sockets.ts";

/** One path of the machine that a command sees outside the roots. */
export type ViewMount =
  /** The content of `source`, read-only. */
  | { readonly kind: "bind"; readonly path: string; readonly source: string }
  | { readonly kind: "link"; readonly path: string; readonly target: string }
  /** An empty folder that covers the real one: the home inside a visible folder. */
  | { readonly kind: "empty"; readonly path: string };

export interface ViewOptions {
  readonly view: CommandView;
  readonly workspace: Places;
  /** In the form of the PATH variable. Programs on it are visible, regardless of their folder. */
  readonly path: string;
}

/** A newly installed toolchain is visible after this time. */
const FRESH_MS = 2_000;

/**
 * What commands see of the machine. Paths that are not listed are absent, including those that appear during a command.
 * Sources are never inside a root: a command could have replaced them by links.
 */
export class MachineView {
  readonly #options: ViewOptions;
  #mounts: readonly ViewMount[] = [];
  #withPackages: readonly ViewMount[] = [];
  #madeAt = -Infinity;

  constructor(options: ViewOptions) {
    this.#options = options;
  }

  /** Parents first. `packages`: include package caches. */
  mounts({ packages = true }: { readonly packages?: boolean } = {}): readonly ViewMount[] {
    if (performance.now() - this.#madeAt > FRESH_MS) {
      this.#mounts = makeView(this.#options, HOME_TOOLS);
      this.#withPackages = makeView(this.#options, [...HOME_TOOLS, ...HOME_PACKAGES.flatMap(({ paths }) => paths)]);
      this.#madeAt = performance.now();
    }
    return packages ? this.#withPackages : this.#mounts;
  }

  /** Folders and files that are visible with their real content. */
  folders(): readonly ShownPlace[] {
    return this.mounts().flatMap((mount) => (mount.kind === "bind" ? [mount] : []));
  }

  /** For a command without network: where tools find the visible packages, and short timeouts. The user's values win. */
  offlineVariables(home: string, given: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const { home: real } = this.#options.workspace;
    const shown = new Set(this.mounts().map(({ path }) => path));
    const rows = HOME_PACKAGES.filter(({ paths }) => paths.some((path) => shown.has(join(real, path))));
    const variables = [OFFLINE_VARIABLES, ...rows.map((row) => row.variables)]
      .flatMap((row) => Object.entries(row))
      .filter(([name]) => given[name] === undefined);
    return Object.fromEntries(
      variables.map(([name, value]) => [name, value.replace(/[~@](?=\/)/g, (which) => (which === "~" ? real : home))]),
    );
  }

  /** Whether a path outside the roots is visible. */
  shows(path: string): boolean {
    let found: ViewMount | undefined;
    for (const mount of this.mounts()) if (isInside(mount.path, path)) found = mount;
    return found?.kind === "bind";
  }
}

function makeView(options: ViewOptions, names: readonly string[]): readonly ViewMount[] {
  const { workspace } = options;
  const folders = [...topFolders(options), ...PROGRAM_FOLDERS].flatMap((path) =>
    path === CGROUPS ? limits() : [path],
  );
  const system = folders.flatMap((path) => showSystem(path));
  const own = [...names.map((name) => join(workspace.home, name)), ...programFolders(options)];
  const tools = workspace.home === "/" ? [] : own.flatMap((path) => showTool(path, workspace));
  const isShown = (path: string): boolean =>
    system.some((mount) => mount.kind === "bind" && isInside(mount.path, path));
  const homes = isShown(workspace.home) ? [{ kind: "empty" as const, path: workspace.home }] : [];
  return withoutRepetition([...system, ...homes, ...tools]).filter(
    ({ path }) => !workspace.roots.some((root) => isInside(root, path)),
  );
}

const CGROUPS = "/sys/fs/cgroup";
/** The cgroup v1 controllers that programs use to size themselves. All of them would be a dozen mounts per command. */
const SIZES = ["memory", "cpu", "cpu,cpuacct", "cpuset"];

function limits(): readonly string[] {
  const isUnified = lstatSync(join(CGROUPS, "cgroup.controllers"), { throwIfNoEntry: false }) !== undefined;
  return isUnified ? [CGROUPS] : SIZES.map((name) => join(CGROUPS, name));
}

function topFolders({ view }: ViewOptions): readonly string[] {
  if (view === "programs") return [];
  return readdirSync("/")
    .map((name) => `/${name}`)
    .filter((path) => !UNSEEN_FOLDERS.includes(path));
}

/** System folders by name; top-level links stay links: `/bin` is one on most machines. */
function showSystem(path: string): readonly ViewMount[] {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return [];
  if (found.isSymbolicLink()) return [{ kind: "link", path, target: readlinkSync(path) }];
  return [{ kind: "bind", path, source: path }];
}

/** Mounts a tool by its real path. A tool in a root is visible there anyway: a link leads to it. */
function showTool(path: string, workspace: Places): readonly ViewMount[] {
  const source = realOf(path);
  if (source === undefined) return [];
  if (workspace.roots.some((root) => isInside(root, source)))
    return source === path ? [] : [{ kind: "link", path, target: source }];
  const closed = [workspace.home, ...workspace.state_dirs, ...workspace.roots];
  if (closed.some((each) => isInside(source, each)) || judgeSensitivity(source, workspace) !== undefined) return [];
  return [{ kind: "bind", path, source }];
}

/** Sibling folders that a folder of programs needs. */
const BESIDE_PROGRAMS = ["lib", "lib64", "libexec", "share", "include"];
/** Files that mark a folder as dedicated to one toolchain. */
const OWN_FOLDER = ["pyvenv.cfg", "conda-meta"];

/** Folders on the PATH, with the sibling folders that their programs load from. */
function programFolders({ path, workspace }: ViewOptions): readonly string[] {
  const folders = path.split(":").filter((folder) => isAbsolute(folder));
  return [...new Set(folders.map((folder) => resolve(folder)))].flatMap((folder) => {
    if (folder.endsWith("/node_modules/.bin")) return [dirname(folder)];
    const above = dirname(folder);
    const isShared = above === workspace.home || above === join(workspace.home, ".local") || dirname(above) === "/";
    if (!folder.endsWith("/bin") || isShared) return [folder];
    if (OWN_FOLDER.some((name) => realOf(join(above, name)) !== undefined)) return [above];
    return [folder, ...BESIDE_PROGRAMS.map((name) => join(above, name))];
  });
}

/** Without paths that are visible already as part of a visible folder. */
function withoutRepetition(mounts: readonly ViewMount[]): readonly ViewMount[] {
  const kept: ViewMount[] = [];
  for (const mount of [...mounts].sort((one, other) => one.path.length - other.path.length)) {
    let above: ViewMount | undefined;
    for (const each of kept) if (isInside(each.path, mount.path)) above = each;
    const isSeen = above !== undefined && (above.path === mount.path || above.kind === "link");
    const isPart =
      above?.kind === "bind" && mount.kind === "bind" && above.source === above.path && mount.source === mount.path;
    if (!isSeen && !isPart) kept.push(mount);
  }
  return kept;
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined; // missing, or not accessible to us and so not to the command
  }
}
