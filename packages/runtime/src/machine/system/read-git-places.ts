import { existsSync, lstatSync, readdirSync, readlinkSync, realpathSync } from "node:fs";
import type { BigIntStats } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { isInside } from "../../paths/inside.ts";
import type { GitPlaces, Places } from "../../policy/facts.ts";
import { parseGitConfig } from "../../policy/git/git-config.ts";
import { placesInConfig } from "../../policy/git/git-named-paths.ts";
import type { ConfigGround, NamedByGit } from "../../policy/git/git-named-paths.ts";
import { pointedTo } from "../../policy/git/git-pointers.ts";
import { laterLinks, linksInRepository } from "./later-links.ts";
import { readRegular } from "./read-regular.ts";

/** Interval between two checks for a changed configuration. */
const FRESH_MS = 20;
/** Number and depth of folders searched for repositories below the roots: about 2 µs each per check. */
const MAX_FOLDERS = 200;
const DEEPEST = 3;
const MAX_MODULES = 64;
const MAX_CONFIGS = 128;
const MAX_PLACES = 256;
const MAX_LINKS = 256;
const MAX_BYTES = 1 << 20;
const NOT_ENTERED: ReadonlySet<string> = new Set(["node_modules", ".git"]);

/**
 * Paths below the roots that git's configuration names, and the targets of links at such paths. Read again when the
 * configuration or the folders around it change.
 */
export class GitPlacesReader {
  readonly #roots: readonly string[];
  readonly #home: string;
  readonly #fixed: GitPlaces;
  /** The state of every examined path when it was last read. */
  #seen = new Map<string, string>();
  #places: GitPlaces = [];
  /** Found while searching for repositories. */
  #links: ReturnType<typeof laterLinks>[number][] = [];
  #lookedMs = Number.NEGATIVE_INFINITY;

  /** `fixed`: files that run later for reasons other than git's configuration. */
  constructor({ roots, home }: Pick<Places, "roots" | "home">, fixed: GitPlaces = []) {
    this.#roots = roots;
    this.#home = home;
    this.#fixed = fixed;
  }

  /** Returns the identical list until something changes. */
  current(): GitPlaces {
    const nowMs = performance.now();
    if (nowMs - this.#lookedMs < FRESH_MS) return this.#places;
    const isSame = this.#seen.size > 0 && [...this.#seen].every(([path, identity]) => identityOf(path) === identity);
    if (!isSame) this.#read();
    this.#lookedMs = performance.now();
    return this.#places;
  }

  #read(): void {
    this.#seen = new Map();
    this.#links = [];
    const repositories = this.#roots.flatMap((root) => [...this.#above(root), ...this.#below(root)]);
    const worktrees = [...new Set(repositories.map(({ worktree }) => worktree))];
    const tops = worktrees.length === 0 ? this.#roots : worktrees;
    const own = repositories.flatMap(({ worktree, gitdir }) => this.#configsOf(gitdir, worktree));
    const persons = [join(this.#home, ".gitconfig"), join(this.#home, ".config/git/config"), "/etc/gitconfig"];
    const configs = [...own, ...persons.map((file) => ({ file, worktrees: tops }))];
    const named = this.#namedBy(configs).filter(({ path, if_exists }) => !if_exists || existsSync(path));
    const inside = this.#belowRoots([...repositories.flatMap((each) => this.#linksOf(each)), ...named]);
    const linked = this.#belowRoots(this.#links).map((each) => ({ ...each, is_linked: true as const }));
    this.#places = [...this.#fixed, ...inside.slice(0, MAX_PLACES), ...linked.slice(0, MAX_LINKS)];
  }

  /** Both the named paths and their real paths. */
  #belowRoots(named: readonly Omit<NamedByGit, "if_exists">[]): GitPlaces {
    return named.flatMap(({ path, why }) =>
      [...new Set([path, realOf(path)])].flatMap((each) => {
        const root = this.#roots.find((above) => above !== each && isInside(above, each));
        return root === undefined ? [] : [{ path: each, why }];
      }),
    );
  }

  #linksOf({ gitdir }: Repository): ReturnType<typeof linksInRepository> {
    this.#note(join(gitdir, "hooks"));
    return linksInRepository(gitdir);
  }

  /** The repository that contains the root. */
  #above(root: string): readonly Repository[] {
    for (let folder = root; ; folder = dirname(folder)) {
      const found = this.#repositoryIn(folder);
      if (found !== undefined) return [found];
      if (folder === "/") return [];
    }
  }

  /** Repositories inside a root, near its top. */
  #below(root: string): readonly Repository[] {
    const found: Repository[] = [];
    const folders: { readonly path: string; readonly depth: number }[] = [{ path: root, depth: 0 }];
    for (let looked = 0; looked < MAX_FOLDERS; looked++) {
      const next = folders.shift();
      if (next === undefined) break;
      this.#note(next.path);
      const repository = next.depth === 0 ? undefined : this.#repositoryIn(next.path);
      if (repository !== undefined) found.push(repository);
      const { folders: inside, links } = namesIn(next.path);
      this.#links.push(...laterLinks(next.path, links, { roots: this.#roots }));
      if (next.depth === DEEPEST) continue;
      const names = inside.filter((name) => !NOT_ENTERED.has(name));
      folders.push(...names.map((name) => ({ path: join(next.path, name), depth: next.depth + 1 })));
    }
    return found;
  }

  #repositoryIn(worktree: string): Repository | undefined {
    const path = join(worktree, ".git");
    this.#note(path);
    const stats = statsOf(path);
    if (stats === undefined) return undefined;
    if (!stats.isFile()) return { worktree, gitdir: path };
    const gitdir = pointedTo(readText(path) ?? "", worktree);
    return gitdir === undefined ? undefined : { worktree, gitdir };
  }

  #configsOf(gitdir: string, worktree: string): readonly Config[] {
    const pointer = readText(join(gitdir, "commondir"));
    const common = pointer === undefined ? gitdir : (pointedTo(pointer, gitdir) ?? gitdir);
    const own = [join(common, "config"), join(gitdir, "config.worktree")];
    const modules = modulesIn(join(common, "modules")).map((module) => {
      const file = join(module, "config");
      const setting = parseGitConfig(readText(file) ?? "")?.find(({ key }) => key === "core.worktree")?.value;
      const top = setting === undefined ? undefined : pointedTo(setting, module);
      return { file, worktrees: [top ?? worktree] };
    });
    return [...own.map((file) => ({ file, worktrees: [worktree] })), ...modules];
  }

  /** The places named by these files and by the files they include. */
  #namedBy(configs: readonly Config[]): readonly NamedByGit[] {
    const found: NamedByGit[] = [];
    const waiting = [...configs];
    const read = new Set<string>();
    for (let next = waiting.shift(); next !== undefined && read.size < MAX_CONFIGS; next = waiting.shift()) {
      const { file, worktrees } = next;
      const id = [file, ...worktrees].join("\0");
      if (read.has(id)) continue;
      read.add(id);
      this.#note(file);
      const ground: ConfigGround = { folder: dirname(file), worktrees, home: this.#home };
      const named = placesInConfig(readText(file) ?? "", ground);
      found.push(...named);
      const included = named.filter(({ why }) => /^include(?:if\..*)?\.path /s.test(why));
      waiting.push(...included.map(({ path }) => ({ file: path, worktrees })));
    }
    return found;
  }

  #note(path: string): void {
    this.#seen.set(path, identityOf(path));
  }
}

interface Repository {
  /** The top of its working folder. */
  readonly worktree: string;
  readonly gitdir: string;
}

interface Config {
  readonly file: string;
  readonly worktrees: readonly string[];
}

function identityOf(path: string): string {
  const stats = statsOf(path);
  return stats === undefined ? "none" : `${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`;
}

function statsOf(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined; // not accessible, so git cannot read it either
  }
}

function readText(path: string): string | undefined {
  try {
    return readRegular(path, MAX_BYTES)?.toString("latin1");
  } catch {
    return undefined; // missing or not accessible
  }
}

function namesIn(path: string): { readonly folders: readonly string[]; readonly links: readonly string[] } {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    const links = entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => name);
    return { folders: folders.slice(0, MAX_FOLDERS), links };
  } catch {
    return { folders: [], links: [] }; // removed meanwhile, or not accessible
  }
}

/** The folders of submodules. A submodule name may contain slashes. */
function modulesIn(folder: string): readonly string[] {
  const found: string[] = [];
  const folders = [folder];
  for (let looked = 0; looked < MAX_MODULES; looked++) {
    const next = folders.shift();
    if (next === undefined) break;
    if (existsSync(join(next, "HEAD"))) found.push(next);
    const inside = existsSync(join(next, "HEAD")) ? ["modules"] : namesIn(next).folders;
    folders.push(...inside.map((name) => join(next, name)));
  }
  return found;
}

/** Same limit as the kernel. */
const MAX_FOLLOWED = 40;

/** The real path. For a missing entry: resolved from its nearest existing folder, or from the target of a link. */
function realOf(path: string, followed = 0): string {
  for (let folder = path; folder !== "/"; folder = dirname(folder)) {
    const rest = path.slice(folder.length);
    try {
      return join(realpathSync.native(folder), rest);
    } catch {
      const target = followed < MAX_FOLLOWED ? targetOf(folder) : undefined;
      if (target !== undefined) return realOf(join(resolve(dirname(folder), target), rest), followed + 1);
    }
  }
  return path;
}

function targetOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined; // missing, or not a link
  }
}
