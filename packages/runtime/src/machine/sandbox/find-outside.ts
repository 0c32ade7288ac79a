import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import type { BigIntStats, Dirent } from "node:fs";
import { dirname, join } from "node:path";
import { CLOSED_FOLDERS } from "../../policy/commands/command-view.ts";
import { SENSITIVE_PLACES } from "../../policy/paths/dangers.ts";
import type { Places } from "../../policy/facts.ts";
import type { PlaceRow } from "../../policy/paths/places.ts";
import type { HiddenPlace } from "./bwrap.ts";

/** Full paths of sensitive places outside the roots, existing or not. */
export function namedOutside(workspace: Places): readonly string[] {
  const paths = SENSITIVE_PLACES.flatMap(({ paths }: PlaceRow) => paths).filter((path) => !path.includes("*"));
  const named = paths.flatMap((path) => {
    if (path.startsWith("/")) return KERNEL.has(path) ? [] : [path];
    return homesOf(workspace).map((home) => join(home, path.replace(/^~\//, "")));
  });
  return [...CLOSED_FOLDERS, ...named];
}

/** These are private in the sandbox, or read-only and needed. */
const KERNEL: ReadonlySet<string> = new Set(["/proc", "/sys", "/dev"]);
/** Top-level folders in which some name prefixes are sensitive. */
export const TOP_FOLDERS = ["/etc"] as const;

function homesOf({ home }: Places): readonly string[] {
  const folders = [home, "/root", ...(entriesOf("/home") ?? []).map(({ name }) => join("/home", name))];
  return [...new Set(folders.flatMap((folder) => realOf(folder) ?? []))];
}

/** Named sockets with a listener: docker, agents, databases. A read-only mount does not block them. */
export function listeningSockets(): readonly string[] {
  try {
    const paths = readFileSync("/proc/net/unix", "utf8").matchAll(/ (\/.+)$/gm);
    return [...new Set([...paths].map(([, path = ""]) => path))];
  } catch {
    return []; // not available on this system
  }
}

/** Its real path, if it exists. A link to a large part of the machine hides nothing of that part. */
export function existing(path: string, roots: readonly string[]): readonly HiddenPlace[] {
  if (!existsSync(path)) return [];
  const real = realOf(path);
  if (real === undefined || roots.includes(real) || (real !== path && dirname(real) === "/")) return [];
  return [{ path: real, kind: lstat(real)?.isDirectory() === true ? "folder" : "file" }];
}

function realOf(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined; // gone meanwhile
  }
}

export function lstat(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined; // not accessible to us, and so not to the command
  }
}

export function entriesOf(path: string): readonly Dirent[] | undefined {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch {
    return undefined; // gone, or not accessible to us and so not to the command
  }
}
