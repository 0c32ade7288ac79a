import { lstatSync, readdirSync } from "node:fs";
import type { Dirent, Stats } from "node:fs";
import { join } from "node:path";
import { isBinding } from "./bind-folder.ts";

/** `unused`: exists, but contains no state. */
type FolderUse = "missing" | "unused" | "used";

export type FolderExamination = { readonly use: FolderUse } | { readonly problem: string };

/**
 * The subfolders of a state folder, except the runs. Their file names are predictable, so a link among them would
 * redirect reads and writes.
 */
// oxfmt-ignore
export const STATE_FOLDERS = ["undo", "sandbox", "background", "locks", "logs", "pruned", "open-approvals", "open-runs", "running"] as const;

/** In a folder that others may have written to, the runs are checked too, although they may be many. */
const ALSO_RUNS = [...STATE_FOLDERS, "runs"];

const OTHERS_WRITE = 0o022;
const OTHER_PLACE = "set another folder with --state-dir or AUTONOUS_STATE_DIR";

/**
 * Whether a folder can be this user's state: a real folder, owned by the user, writable by no one else, without links
 * where the runtime opens files. Checks names, owners and modes only; reads no content and changes nothing.
 */
export function examineFolder(path: string, { thorough }: { readonly thorough: boolean }): FolderExamination {
  const stats = lstat(path);
  if (stats === undefined) return { use: "missing" };
  if (typeof stats === "string") return { problem: `it cannot be read (${stats}); ${OTHER_PLACE}` };
  const owned = problemOfOwner(stats);
  if (owned !== undefined) return { problem: owned };
  const entries = entriesOf(path);
  if (typeof entries === "string") return { problem: `it cannot be listed (${entries}); ${OTHER_PLACE}` };
  if (entries.every(({ name }) => isBinding(name))) return entries.some(isLink) ? linked(entries) : { use: "unused" };
  const mode = stats.mode & 0o777;
  if ((mode & OTHERS_WRITE) !== 0) {
    const how = `run chmod go-w ${JSON.stringify(path)} if you trust its content`;
    return { problem: `other users can write to it (mode ${mode.toString(8)}); ${how}, or ${OTHER_PLACE}` };
  }
  const below = (thorough ? ALSO_RUNS : STATE_FOLDERS).flatMap((name) => linksIn(path, name));
  const links = [...entries.filter(isLink).map(({ name }) => name), ...below];
  return links.length === 0 ? { use: "used" } : linkProblem(links);
}

/** Checks the user's state directory, which contains the automatic folders: who can write to it can replace them. */
export function problemOfParent(path: string): string | undefined {
  const stats = lstat(path);
  if (stats === undefined) return undefined;
  const why = typeof stats === "string" ? `cannot be read (${stats})` : problemOfSharing(stats);
  return why === undefined ? undefined : `"${path}" ${why}; set XDG_STATE_HOME to a folder of your own`;
}

function problemOfSharing(stats: Stats): string | undefined {
  if (!stats.isDirectory()) return "is not a folder";
  if (stats.uid !== process.getuid?.()) return `belongs to user ${stats.uid}`;
  const mode = stats.mode & 0o777;
  return (mode & OTHERS_WRITE) === 0 ? undefined : `is writable by other users (mode ${mode.toString(8)})`;
}

/** Checks that a folder belongs to the user, independent of its content. */
function problemOfOwner(stats: Stats): string | undefined {
  if (stats.isSymbolicLink()) return `it is a link; remove the link, or ${OTHER_PLACE}`;
  if (!stats.isDirectory()) return `it is not a folder; move it away, or ${OTHER_PLACE}`;
  const me = process.getuid?.();
  return stats.uid === me
    ? undefined
    : `it belongs to user ${stats.uid}, not to user ${me}; run as its owner, or ${OTHER_PLACE}`;
}

function linked(entries: readonly Dirent[]): FolderExamination {
  return linkProblem(entries.filter(isLink).map(({ name }) => name));
}

function linkProblem(links: readonly string[]): FolderExamination {
  const [first = ""] = links;
  return {
    problem: `${JSON.stringify(first)} in it is a link, which Autonous never creates; remove it, or ${OTHER_PLACE}`,
  };
}

function isLink(entry: Dirent): boolean {
  return entry.isSymbolicLink();
}

function linksIn(path: string, name: string): string[] {
  const entries = entriesOf(join(path, name));
  return typeof entries === "string" ? [] : entries.filter(isLink).map((entry) => join(name, entry.name));
}

function lstat(path: string): Stats | string | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    return code === "ENOTDIR" ? undefined : code;
  }
}

function entriesOf(path: string): Dirent[] | string {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "unknown";
  }
}
