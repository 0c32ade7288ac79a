import { posix } from "node:path";
import { asGlob } from "../../paths/as-glob.ts";
import { readArguments } from "../../shell/programs/options.ts";
import type { ParsedShell, ShellFolder, ShellWord, SimpleCommand } from "../../shell/parsed-shell.ts";
import { normal, spelledPath } from "./command-places.ts";
import type { CommandGround } from "./command-places.ts";
import { readPathspec } from "../git/git-contents.ts";
import { baseName, roleOf, UNKNOWN_ROLE } from "./program-roles.ts";
import type { Use } from "./program-roles.ts";

/** A path named by the words of a command. */
export interface NamedPlace {
  /** As written in the command, for messages. */
  readonly shown: string;
  /** The real path; for a pattern, the folder before its first wildcard. */
  readonly real: string;
  /** The names of the pattern below that folder. Omitted for a plain path. */
  readonly names?: readonly string[];
  readonly uses: readonly Use[];
  /** True if the program is known to do this, false if it only may. */
  readonly isKnown: boolean;
  readonly command: SimpleCommand;
}

/** Resolves a path to its real path. */
export type ResolveWord = (path: string) => string;

/**
 * Every path that the words and redirections of a text could mean: whole words, option values, the parts of
 * `key=value`, `@file`, `host:path` and lists. Values known only at run time are missing. A word that is not a path
 * resolves to a name that does not exist and that rules are unlikely to match.
 */
export function namedPlaces(
  { commands }: ParsedShell,
  ground: CommandGround,
  resolve: ResolveWord,
): readonly NamedPlace[] {
  const known = new Map<string, string>();
  const realOf = (path: string): string => {
    const real = known.get(path) ?? resolve(path);
    known.set(path, real);
    return real;
  };
  return commands.flatMap((command) => placesOf(command, ground, realOf));
}

interface UsedWord {
  readonly word: ShellWord;
  readonly uses: readonly Use[];
  readonly isKnown: boolean;
}

function placesOf(command: SimpleCommand, ground: CommandGround, realOf: ResolveWord): NamedPlace[] {
  const starts = foldersOf(command);
  const tops = isGit(command) ? foldersAbove(starts, ground) : starts;
  const found = new Map<string, NamedPlace>();
  const looked = new Set<string>();
  for (const { word, uses, isKnown } of usedWords(command)) {
    const { value, isDynamic, isPattern } = word;
    const same = [value, isDynamic, isPattern, isKnown, ...uses].join("\0");
    if (looked.size === looked.add(same).size) continue;
    for (const folder of word.text.includes(":") ? tops : starts) {
      for (const where of whereTo(word, { folder, ground, realOf })) {
        const key = [where.real, ...(where.names ?? [""]), ...uses, isKnown].join("\0");
        if (!found.has(key)) found.set(key, { ...where, shown: word.text, uses, isKnown, command });
      }
    }
  }
  return [...found.values()];
}

/** Options whose value is the folder that a program works in: `git -C`, `make -C`, `tar -C`, `env --chdir`. */
const FOLDER_OPTION = /^(?:-C|--directory|--chdir|--cwd|--prefix|--dir|--work-tree|--project-dir|--manifest-dir)$/;

/**
 * Each one multiplies the paths to check. The words of a program with such options do not show all it touches anyway.
 */
const MAX_FOLDERS = 4;

/** The folders that paths may be relative to: where the command starts, then each folder that its options name. */
function foldersOf({ words, folder }: SimpleCommand): readonly ShellFolder[] {
  const folders = [folder];
  for (const [at, { value }] of words.entries()) {
    const [option = "", given] = value.startsWith("--") ? value.split(/=(.*)/s) : [value.slice(0, 2), value.slice(2)];
    if (!FOLDER_OPTION.test(option) || folders.length > MAX_FOLDERS) continue;
    const target = given === undefined || given === "" ? words[at + 1]?.value : given;
    const last = folders.at(-1)?.path;
    if (target === undefined) continue;
    if (/^[/~]/.test(target)) folders.push({ ...folder, path: target });
    else if (last !== undefined) folders.push({ ...folder, path: `${last}/${target}` });
  }
  return folders;
}

function isGit({ words: [name] }: SimpleCommand): boolean {
  return name !== undefined && baseName(name.value) === "git";
}

/** `HEAD:a` and `:/a` begin at the top of the working folder, which may be any folder above, up to a root. */
function foldersAbove(folders: readonly ShellFolder[], ground: CommandGround): readonly ShellFolder[] {
  const found = new Map(folders.map((folder) => [folder.path, folder]));
  for (const folder of folders) {
    const above: string[] = [];
    const start = spelledPath({ value: "." }, folder, ground) ?? "/";
    for (let path = normal(start).replace(/(?<=.)\/$/, ""); path !== "/"; path = posix.dirname(path)) {
      above.push(path);
      if (ground.roots.includes(path)) break;
    }
    // Each one multiplies the paths to check, so only the nearest and the farthest count.
    for (const path of [...above.slice(0, MAX_PARENTS), ...above.slice(-MAX_PARENTS)])
      found.set(path, { ...folder, path });
  }
  return [...found.values()];
}

const MAX_PARENTS = 16;

/** The words that may name paths, with the access to those paths. */
function* usedWords(command: SimpleCommand): Generator<UsedWord> {
  for (const { operator, target } of command.redirections) {
    const isCopy = operator.endsWith("&") && /^(?:\d+-?|-)$/.test(target.value);
    if (!isCopy) yield { word: target, uses: usesOfRedirection(operator), isKnown: true };
  }
  const [name, ...rest] = command.words;
  if (name === undefined) return;
  if (name.value.includes("/")) yield { word: name, uses: ["read"], isKnown: true };
  for (const { value } of command.assignments) yield* partsOf(value, UNKNOWN_ROLE.operands, false);
  const role = roleOf(command);
  const isKnown = role !== UNKNOWN_ROLE;
  const hasPathspecs = isGit(command);
  const { operands } = readArguments(command.words);
  const { skip = 0, last = role.operands } = role;
  const indexes = new Map(operands.map((word, at) => [word, at]));
  for (const word of rest) {
    const at = isKnown ? indexes.get(word) : undefined;
    if (at !== undefined) {
      const uses = at === operands.length - 1 && at > skip ? last : role.operands;
      if (at >= skip) yield { word, uses, isKnown };
    } else if (role.operands.length > 0) {
      // Git expands wildcards itself, so they also count in a quoted pathspec.
      const given = hasPathspecs && WILD.test(word.value) ? { ...word, isPattern: true } : word;
      yield* partsOf(given, UNKNOWN_ROLE.operands, false);
      const spec = hasPathspecs && word.value.startsWith(":") ? readPathspec(word.value) : undefined;
      if (spec?.isExcluded === false)
        yield { word: { ...given, value: spec.path }, uses: UNKNOWN_ROLE.operands, isKnown: false };
    }
  }
}

function usesOfRedirection(operator: string): readonly Use[] {
  if (operator === "<>") return ["read", "write"];
  return operator.includes(">") ? ["write"] : ["read"];
}

/**
 * The possible paths in a word of an unknown program: `-ofile`, `--out=file`, `if=file`, `@file`, `host:file`, `a,b`.
 */
function* partsOf(word: ShellWord, uses: readonly Use[], isKnown: boolean): Generator<UsedWord> {
  const { value } = word;
  if (!/^-./.test(value)) yield { word, uses, isKnown };
  for (const part of new Set(value.split(/[=@:,;]/))) {
    if (part === "" || part === value || part.startsWith("-")) continue;
    yield { word: { ...word, value: part }, uses, isKnown };
  }
  const cluster = /^-[A-Za-z]/.test(value) ? value : "";
  for (let at = 2; at < cluster.length && at < 10; at++) {
    yield { word: { ...word, value: cluster.slice(at).replace(/^=/, "") }, uses, isKnown };
    if (!/[A-Za-z]/.test(cluster.charAt(at))) break;
  }
  if (/^file:\/\//i.test(value)) yield { word: { ...word, value: value.slice(7) }, uses, isKnown };
}

interface ResolveContext {
  readonly folder: ShellFolder;
  readonly ground: CommandGround;
  readonly realOf: ResolveWord;
}

/** A name with a shell wildcard; a quoted word is not a pattern. */
const WILD = /[*?[]/;

/** What a word resolves to: with `..` as the kernel reads it, and as text if that differs. */
function whereTo(
  { value, isDynamic, isPattern }: ShellWord,
  { folder, ground, realOf }: ResolveContext,
): readonly Pick<NamedPlace, "real" | "names">[] {
  if (value === "") return [];
  const spelled = spelledPath({ value }, folder, ground);
  if (spelled === undefined) return [];
  const paths = [...new Set([spelled, normal(spelled)])];
  return paths.map((path) => {
    if (!isDynamic && !isPattern) return { real: realOf(path) };
    const names = path.split("/");
    const wild = isPattern ? names.findIndex((name) => WILD.test(name)) : -1;
    // The unknown part comes after the last name.
    const end = wild >= 0 ? wild : names.length - (isDynamic ? 1 : 0);
    const real = realOf(names.slice(0, end).join("/") || "/");
    const below = names.slice(end).map((name) => (isPattern && WILD.test(name) ? globOf(name) : asGlob(name)));
    if (below.length === 0) return { real };
    return { real, names: isDynamic ? [...below.slice(0, -1), `${below[below.length - 1]}*`, "**"] : below };
  });
}

/** Named character classes and alternatives in parentheses exist only in the shell, so they count as any name. */
function globOf(name: string): string {
  return /\[:|\(/.test(name) ? "*" : name;
}
