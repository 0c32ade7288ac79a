import type { OpenedPlaces } from "../../contract/processes.ts";
import { isInside } from "../../paths/inside.ts";
import { gitSubcommand } from "../../shell/carriers/git.ts";
import { readArguments } from "../../shell/programs/options.ts";
import type { ParsedShell, ShellWord, SimpleCommand } from "../../shell/parsed-shell.ts";
import { resolveWord, withoutPattern } from "../commands/command-places.ts";
import type { CommandGround } from "../commands/command-places.ts";
import type { NamedCommand } from "../facts.ts";
import { isPlainSetting, settingKey } from "../git/git-settings.ts";
import { onlyReads, writesNoFile } from "../commands/read-only-commands.ts";

/** Which files that run later the commands of a call may change; undefined if none. */
export function openedPlaces(
  commands: readonly NamedCommand[],
  { confirmed, ...ground }: CommandGround & { readonly confirmed: boolean },
): OpenedPlaces | undefined {
  const [named, ...more] = commands;
  if (named === undefined || more.length > 0) return undefined;
  const { parsed, folder, later } = named;
  if (!confirmed) return plainGitPlaces(parsed);
  const places = confirmedPlaces(parsed, { ...ground, folder });
  return later === true ? { ...places, later: true } : places;
}

/**
 * What the user's approval of exactly this text opens: git's own files if the text sets git up, and the paths that its
 * words name. Paths known only at run time are not in the words, and stay closed.
 */
function confirmedPlaces({ commands }: ParsedShell, ground: CommandGround): OpenedPlaces {
  const paths = new Set(commands.flatMap((command) => pathsOf(command, ground)));
  return commands.some(setsGitUp) ? { git: "all", paths: [...paths] } : { paths: [...paths] };
}

/** Paths below the roots. Naming a root, the whole workspace, is not a request to change what runs later in it. */
function pathsOf(command: SimpleCommand, ground: CommandGround): readonly string[] {
  const words = [...command.words.slice(1), ...command.redirections.map(({ target }) => target)];
  return words.flatMap((word) => {
    if (word.isDynamic) return [];
    const values = [word.value, ...word.value.split("=").slice(1)];
    return values.flatMap((value) => {
      const full = value === "" ? undefined : resolveWord({ ...word, value }, command.folder, ground);
      const path = full === undefined ? "" : withoutPattern(full).path.replace(/(?<=.)\/$/, "");
      return ground.roots.some((root) => path !== root && isInside(root, path)) ? [path] : [];
    });
  });
}

/**
 * What a text may change without approval, because it runs only git commands whose effects are known here. Undefined
 * otherwise, and if the text does not need it.
 */
function plainGitPlaces({ commands, opaque }: ParsedShell): OpenedPlaces | undefined {
  if (opaque.length > 0 || !commands.some(isGit)) return undefined;
  const kinds = new Set(commands.map(kindOf));
  if (kinds.has(undefined)) return undefined;
  return { git: kinds.has("work") ? "work" : "settings", paths: [] };
}

function isGit({ words: [name] }: SimpleCommand): boolean {
  return name?.isDynamic === false && name.value === "git";
}

/** Programs that set git up: hooks, credentials, new repositories. */
const SETS_GIT_UP = new Set(["git", "git-lfs", "husky", "lefthook", "pre-commit", "gh", "glab", "hub"]);

function setsGitUp({ words: [name] }: SimpleCommand): boolean {
  return name?.isDynamic === false && SETS_GIT_UP.has(name.value.slice(name.value.lastIndexOf("/") + 1));
}

type Kind = "looks" | "settings" | "work";

function kindOf(command: SimpleCommand): Kind | undefined {
  const { words, assignments, redirections, isCarrier } = command;
  if (isCarrier || assignments.length > 0 || words.some(({ isDynamic }) => isDynamic)) return undefined;
  if (!isGit(command)) return onlyReads(command) ? "looks" : undefined;
  if (!writesNoFile(redirections)) return undefined;
  const given = gitSubcommand(words);
  const before = words.slice(1, words.length - given.length);
  if (!areHarmless(before) || given.some(({ value }) => RISKY_OPTION.test(value))) return undefined;
  const subcommand = given[0]?.value ?? "";
  if (subcommand === "config") return setsPlain(given) ? "settings" : undefined;
  if (SETTINGS.has(subcommand)) return given.some(({ value }) => FETCHES.test(value)) ? "work" : "settings";
  return WORK.has(subcommand) ? "work" : undefined;
}

/** For these, git runs only hooks, whatever the configuration says. */
const SETTINGS = new Set(["branch", "remote", "rev-parse"]);
/** `git remote update`, `git remote add -f`. */
const FETCHES = /^(?:update|prune|show|set-head|-f|--fetch|-[a-z]*f[a-z]*)$/;
/** For these, git runs no program unless hooks or the configuration name one. */
// oxfmt-ignore
const WORK = new Set([
  "status", "log", "diff", "show", "add", "commit", "checkout", "switch", "restore", "reset", "stash", "merge", "rebase", "cherry-pick", "revert", "tag",
  "fetch", "pull", "init", "clone", "worktree", "submodule", "mv", "rm", "ls-files", "describe", "symbolic-ref", "update-ref",
]);
/** Options that name programs, or files that do, or make git work elsewhere. */
const RISKY_OPTION =
  /^(?:foreach|--(?:template|separate-git-dir|config|upload-pack|receive-pack|exec|ext-diff|textconv|edit|output)(?:[=-].*)?)$/s;

/** `-C folder` and `--no-pager` may come before the subcommand. */
function areHarmless(before: readonly ShellWord[]): boolean {
  return before.every(({ value }, at) =>
    before[at - 1]?.value === "-C" ? !value.startsWith("-") : /^(?:-C|-P|--no-pager)$/.test(value),
  );
}

const CONFIG_OPTION =
  /^--(?:local|add|get|get-all|get-regexp|list|unset|unset-all|replace-all|bool|int|show-origin|show-scope)$|^-[lz]$/;

/** `git config user.email a@b`: every stored value is harmless. */
function setsPlain(given: readonly ShellWord[]): boolean {
  const { options, operands } = readArguments(given);
  if (!options.every(({ name }) => CONFIG_OPTION.test(name))) return false;
  const [key, value] = operands;
  return key === undefined || value === undefined
    ? operands.length < 2
    : operands.length === 2 && isPlainSetting({ key: settingKey(key.value), value: value.value });
}
