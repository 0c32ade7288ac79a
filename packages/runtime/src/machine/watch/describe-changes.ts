import { isInside } from "../../paths/inside.ts";
import type { FileVersion } from "../../contract/undo.ts";
import { decodeKey, folderOf, keyOf, nameOf } from "../search/keys.ts";
import type { CommandChange } from "../../contract/command-changes.ts";
import type { Difference } from "./compare-looks.ts";
import type { KeptContents } from "./kept-contents.ts";
import type { OthersChange } from "../files/record-change.ts";
import type { TreeEntry, TreeLook } from "./tree-entry.ts";
import type { TreeLimits } from "./tree-limits.ts";

/** What other calls do to files meanwhile, by real path: the hash that they left, null for removed, undefined for not done. */
export type Touched = Pick<ReadonlyMap<string, string | null | undefined>, "has" | "get">;

interface DescribeOptions {
  readonly after: TreeLook;
  readonly folders_made: readonly string[];
  readonly cwd: string;
  readonly contents: KeptContents;
  readonly limits: TreeLimits;
  /** Whether contents were kept at all. */
  readonly keeps: boolean;
  readonly touched: Touched;
}

export interface Described {
  readonly change: CommandChange;
  /** What takes it back; undefined where nothing does. */
  readonly undo: OthersChange | undefined;
}

/** What is told of the differences, and what can be put on record of them. */
export function describeChanges(differences: readonly Difference[], options: DescribeOptions): readonly Described[] {
  const made = new Set(options.folders_made);
  return differences.map((difference): Described => {
    const real = decodeKey(difference.key);
    const why_not = whyNot(difference, real, options);
    const { kind = "file" } = difference.after ?? difference.before ?? {};
    const path = `${pathFor(real, options.cwd)}${kind === "directory" ? "/" : ""}`;
    const told = { path, real, kind, change: changeOf(difference) };
    if (why_not !== undefined) return { change: { ...told, undoable: false, why_not }, undo: undefined };
    const folders_made = difference.before === undefined ? madeAbove(difference.key, made) : [];
    return {
      change: { ...told, undoable: true },
      undo: undoOf(difference, { ...told, folders_made }, options.contents),
    };
  });
}

/** Whether a file is what another call has left. */
export function isDoneBy(touched: Touched, real: string, now: TreeEntry | undefined): boolean {
  return touched.has(real) && touched.get(real) === (now?.sha256 ?? null);
}

export function pathFor(real: string, cwd: string): string {
  if (real === cwd) return ".";
  return isInside(cwd, real) ? real.slice(cwd.endsWith("/") ? cwd.length : cwd.length + 1) : real;
}

function changeOf({ before, after }: Difference): CommandChange["change"] {
  if (before === undefined) return "added";
  if (after === undefined) return "removed";
  return before.kind === after.kind && before.sha256 !== undefined && before.sha256 === after.sha256
    ? "mode"
    : "changed";
}

/** Outermost first. */
function madeAbove(key: string, made: ReadonlySet<string>): string[] {
  const above: string[] = [];
  for (let folder = folderOf(key); made.has(folder); folder = folderOf(folder)) above.unshift(decodeKey(folder));
  return above;
}

interface Told {
  readonly path: string;
  readonly real: string;
  readonly folders_made: readonly string[];
}

function undoOf(
  { before, after }: Difference,
  { path, real, folders_made }: Told,
  contents: KeptContents,
): OthersChange {
  const made = folders_made.length === 0 ? {} : { folders_made };
  return {
    file: { path, real, before: versionOf(before), after: versionOf(after), ...made },
    content: () => (before?.sha256 === undefined ? undefined : contents.read(before.sha256)),
  };
}

function versionOf(entry: TreeEntry | undefined): FileVersion | null {
  if (entry?.sha256 === undefined) return null;
  return { sha256: entry.sha256, size: entry.size, mode: entry.mode };
}

/** Why a difference cannot be taken back, as a clause. Undefined where it can. */
function whyNot({ key, before, after }: Difference, real: string, options: DescribeOptions): string | undefined {
  const kinds = new Set([before, after].flatMap((entry) => (entry === undefined ? [] : [entry.kind])));
  if (!options.keeps) return "a background process may have changed it";
  if ((before ?? after)?.place === "sensitive") return "it is closed to every tool";
  if (kinds.has("directory")) return kinds.size > 1 ? "a folder and a file changed places" : "it was not looked into";
  if (kinds.has("link")) return "it is, or was, a link";
  if (kinds.has("other")) return "it is, or was, no regular file";
  if (keyOf(real) !== key) return "its name is not UTF-8";
  if (options.touched.has(real)) return "another call changed it at the same time";
  if (before !== undefined && !options.contents.has(before.sha256)) return whyNotKept(before, options);
  if (after !== undefined && after.sha256 === undefined) return "what it holds now was too much to read";
  if (after === undefined && !isFolderAbove(key, options.after))
    return "something else took the place of a folder above it";
  return undefined;
}

function whyNotKept({ size }: TreeEntry, { contents, limits }: DescribeOptions): string {
  if (contents.problem !== undefined) return `its old content could not be kept (${contents.problem})`;
  if (size > limits.file_bytes) return `it had ${size} bytes, and at most ${limits.file_bytes} are kept`;
  return "its old content could not be kept within the bounds";
}

/** Whether the folders above can be made again where they are missing. */
function isFolderAbove(key: string, { folders }: TreeLook): boolean {
  for (let folder = folderOf(key); folder !== ""; folder = folderOf(folder)) {
    if (folders.has(folder)) return true;
    const there = folders.get(folderOf(folder))?.entries.get(nameOf(folder));
    if (there !== undefined) return there.kind === "directory";
  }
  return false;
}
