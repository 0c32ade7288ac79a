import { existsSync, lstatSync } from "node:fs";
import { dirname } from "node:path";
import { isInside } from "../../paths/inside.ts";
import { hidesInMemory } from "./bwrap.ts";
import type { SandboxFacts } from "./bwrap.ts";
import { inSingleQuotes } from "../../protocol/shell-quote.ts";

type CheckedFacts = Pick<
  SandboxFacts,
  "roots" | "writes" | "cwd" | "hidden" | "read_only" | "opened" | "pinned" | "closed" | "writable"
>;

/** Checks for the first process in a sandbox, as lines for bash, and the descriptors that it compares with. */
export interface InsideCheck {
  readonly lines: readonly string[];
  /** In the order of their numbers, beginning with `first_fd`. */
  readonly descriptors: readonly number[];
}

interface CheckOptions {
  readonly first_fd: number;
  /** Opens a file or folder and verifies that it is still where it was found. */
  readonly open: (path: string) => number;
}

/**
 * Names below the roots may be moved between search and mount. So each folder with a protected path is opened and
 * verified here, outside; inside, the shell enters it by name, compares it with that descriptor, and checks from there
 * that the protected paths are hidden or read-only. From then on it cannot change: a mount stays on its inode, even if
 * that is moved. Only builtins of bash are used, so that no program of the workspace runs.
 */
export function checkInside(facts: CheckedFacts, { first_fd, open }: CheckOptions): InsideCheck {
  const descriptors: number[] = [];
  const numbers = new Map<string, number>();
  const numberOf = (folder: string): number => {
    const known = numbers.get(folder);
    if (known !== undefined) return known;
    descriptors.push(open(folder));
    const number = first_fd + descriptors.length - 1;
    numbers.set(folder, number);
    return number;
  };
  const lines = [...groupLines(facts, numberOf), ...mountLines(facts), ...folderLines(facts, numberOf)];
  return { lines, descriptors };
}

type NumberOf = (folder: string) => number;

/** Tests of protected paths, grouped by folder. */
function groupLines(facts: CheckedFacts, numberOf: NumberOf): readonly string[] {
  const { roots, hidden, read_only, closed, writes } = facts;
  const closedFolder = numberOf(closed.folder);
  const closedFile = numberOf(closed.file);
  const groups = new Map<string, string[]>(roots.map((root) => [root, writes ? [] : ["[ ! -w . ]"]]));
  const add = (path: string, test: (name: string) => string): void => {
    const folder = dirname(path);
    const tests = groups.get(folder) ?? [];
    groups.set(folder, tests);
    tests.push(test(inSingleQuotes(`./${path.slice(path.lastIndexOf("/") + 1)}`)));
  };
  for (const place of hidden) {
    const { path, kind } = place;
    if (!isBelow(path, roots) || hidesInMemory(place, facts)) continue;
    add(path, (name) => `[ /dev/fd/${kind === "folder" ? closedFolder : closedFile} -ef ${name} ]`);
  }
  if (writes) for (const path of read_only) add(path, (name) => `[ -e ${name} ] && [ ! -w ${name} ]`);
  return [...groups].map(([folder, tests]) => {
    const all = [`cd -P -- ${inSingleQuotes(folder)}`, `[ /dev/fd/${numberOf(folder)} -ef . ]`, ...tests];
    return `{ ${all.join(" && ")}; } 2>/dev/null || ${complain(folder)}`;
  });
}

/**
 * Checks paths that have to be mount points: folders that must not be renamed, and read-only paths that would not be
 * writable without the mount either, so that a write test proves nothing.
 */
function mountLines(facts: CheckedFacts): readonly string[] {
  const { pinned, opened, read_only, writes, hidden, roots } = facts;
  const inMemory = hidden.filter((place) => isBelow(place.path, roots) && hidesInMemory(place, facts));
  const fixed = writes ? read_only.filter((path) => !isOwnAndWritable(path)) : [];
  const wanted = [
    ...(writes ? [...pinned, ...opened] : []).map((path) => ({ path, flag: "rw" })),
    ...[...fixed, ...inMemory.map(({ path }) => path)].map((path) => ({ path, flag: "ro" })),
  ];
  if (wanted.length === 0) return [];
  return [
    `IFS= read -r -d "" REPLY </proc/self/mountinfo`,
    ...wanted.map(
      ({ path, flag }) => `[[ $REPLY == *${inSingleQuotes(` ${escaped(path)} ${flag},`)}* ]] || ${complain(path)}`,
    ),
    "unset REPLY",
  ];
}

function isBelow(path: string, roots: readonly string[]): boolean {
  return roots.some((root) => root !== path && isInside(root, path));
}

function isOwnAndWritable(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats !== undefined && stats.uid === process.geteuid?.() && (stats.mode & 0o200) !== 0;
}

/** Escapes a path like the kernel does in its mount table. */
function escaped(path: string): string {
  return path.replace(/[ \t\n\\]/g, (letter) => `\\${letter.charCodeAt(0).toString(8).padStart(3, "0")}`);
}

/** Checks folders that the command writes to or starts in. The last one stays the working folder. */
function folderLines({ cwd, writes, writable, opened }: CheckedFacts, numberOf: NumberOf): readonly string[] {
  const enter = (folder: string): string =>
    `{ cd -P -- ${inSingleQuotes(folder)} && [ /dev/fd/${numberOf(folder)} -ef . ]; } 2>/dev/null || ${complain(folder)}`;
  // Folders that are gone are left out: with a missing one the sandbox program would not start at all.
  const written = [...writable.filter((folder) => existsSync(folder)), ...(writes ? opened : [])];
  return [...written.map(enter), enter(cwd), "unset OLDPWD; declare -x OLDPWD"];
}

/** Begins like an error of the sandbox program, so that it does not count as output of the command. */
function complain(path: string): string {
  return `{ echo ${inSingleQuotes(`bwrap: "${path}" ${MOVED}`)} >&2; exit 125; }`;
}

const MOVED = "moved while the sandbox was being set up";
