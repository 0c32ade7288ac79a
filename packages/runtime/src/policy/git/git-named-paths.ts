import { posix } from "node:path";
import { isInside } from "../../paths/inside.ts";
import { parseGitConfig } from "./git-config.ts";
import { isPlainSetting } from "./git-settings.ts";

/** A path that git's configuration names: the file there runs later, or names what does. */
export interface NamedByGit {
  /** Absolute. */
  readonly path: string;
  /** For messages, e.g. "core.hookspath of git's configuration names it". */
  readonly why: string;
  /** A word of a command that may be a file: it counts only if a file of that name exists. */
  readonly if_exists: boolean;
}

/** Where a configuration is, and which working folders it applies to. */
export interface ConfigGround {
  /** The folder of the file: includes are relative to it. */
  readonly folder: string;
  /** The top of each working folder: commands run there, and paths are relative to it. */
  readonly worktrees: readonly string[];
  readonly home: string;
}

/** Settings whose value is a path to programs, or to a file that names programs. */
const PATHS: Readonly<Record<string, "worktree" | "file" | undefined>> = {
  __proto__: null as never,
  "core.hookspath": "worktree",
  "core.attributesfile": "worktree",
  "init.templatedir": "worktree",
  "include.path": "file",
  "includeif.path": "file",
};

/** From githooks(5): if the hooks folder is a whole working folder, only these names count as hooks. */
// oxfmt-ignore
const HOOKS = [
  "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout",
  "post-merge", "pre-push", "pre-receive", "update", "proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite",
  "sendemail-validate", "fsmonitor-watchman", "p4-changelist", "p4-prepare-changelist", "p4-post-changelist", "p4-pre-submit", "post-index-change",
] as const;

/** No real configuration has more. */
const MAX_PLACES = 500;

/**
 * The paths that a configuration names. In a setting that is not known to be harmless, every word that can be a path
 * counts: git runs filters, aliases, pagers and monitors, and these may run their arguments.
 */
export function placesInConfig(text: string, ground: ConfigGround): readonly NamedByGit[] {
  const found: NamedByGit[] = [];
  for (const setting of parseGitConfig(text) ?? []) {
    const { key, value } = setting;
    if (value === undefined || value === "" || isPlainSetting(setting, () => true)) continue;
    const why = `${key} of git's configuration names it`;
    for (const { path, if_exists } of pathsOf(key, value, ground)) found.push({ path, why, if_exists });
    if (found.length > MAX_PLACES) break;
  }
  return found;
}

type NamedPath = Omit<NamedByGit, "why">;

function pathsOf(key: string, value: string, ground: ConfigGround): readonly NamedPath[] {
  const kind = PATHS[`${key.slice(0, key.indexOf("."))}${key.slice(key.lastIndexOf("."))}`];
  const full = (word: string, from: readonly string[]): readonly string[] =>
    word.startsWith("~/") ? [posix.join(ground.home, word.slice(2))] : from.map((each) => posix.resolve(each, word));
  if (kind === undefined) {
    return wordsOf(value).flatMap((word) =>
      full(word, ground.worktrees).map((path) => ({ path, if_exists: !word.includes("/") })),
    );
  }
  const paths = full(value, kind === "file" ? [ground.folder] : ground.worktrees);
  return paths.flatMap((path) => {
    const holdsAll = key === "core.hookspath" && ground.worktrees.some((top) => isInside(path, top));
    return (holdsAll ? HOOKS.map((name) => posix.join(path, name)) : [path]).map((each) => ({
      path: each,
      if_exists: false,
    }));
  });
}

/** Words of a command line, without shell parsing: `!f() { ./a.sh "$1"; }; f` contains `./a.sh`. */
function wordsOf(value: string): readonly string[] {
  return value
    .split(/[\s'"`;|&<>(){}$!]+/)
    .map((word) => word.replace(/^-[\w-]*=?/, ""))
    .filter((word) => word !== "" && !word.includes("://") && /[^./]/.test(word));
}
