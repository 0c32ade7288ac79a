import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import type { BigIntStats, Dirent } from "node:fs";
import { dirname, join } from "node:path";
import { CLOSED_FOLDERS } from "../../policy/command-view.ts";
import { SENSITIVE_PLACES } from "../../policy/dangers.ts";
import type { Places } from "../../policy/facts.ts";
import type { PlaceRow } from "../../policy/places.ts";
import type { HiddenPlace } from "./bwrap.ts";

/** Sensitive places outside the roots by their full names, whether there is anything or not. */
export function namedOutside(workspace: Places): readonly string[] {
  const paths = SENSITIVE_PLACES.flatMap(({ paths }: PlaceRow) => paths).filter((path) => !path.includes("*"));
  const named = paths.flatMap((path) => {
    if (path.startsWith("/")) return KERNEL.has(path) ? [] : [path];
    return homesOf(workspace).map((home) => join(home, path.replace(/^~\//, "")));
  });
  return [...CLOSED_FOLDERS, ...named];
}

/** They are private in the sandbox, or read-only and needed. */
const KERNEL: ReadonlySet<string> = new Set(["/proc", "/sys", "/dev"]);
/** Folders at the top in which some names are sensitive by their beginning. */
export const TOP_FOLDERS = ["/etc"] as const;

function homesOf({ home }: Places): readonly string[] {
  const folders = [home, "/root", ...(entriesOf("/home") ?? []).map(({ name }) => join("/home", name))];
  return [...new Set(folders.flatMap((folder) => realOf(folder) ?? []))];
}

/** Sockets that some process listens on by name: docker, agents, databases. A read-only mount does not close them. */
export function listeningSockets(): readonly string[] {
  try {
    const paths = readFileSync("/proc/net/unix", "utf8").matchAll(/ (\/.+)$/gm);
    return [...new Set([...paths].map(([, path = ""]) => path))];
  } catch {
    return []; // the system does not tell
  }
}

/** Where it really is, if it is there at all. A link that leads to a whole part of the machine hides nothing of it. */
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
    return undefined; // out of our own reach, and so out of the command's
  }
}

export function entriesOf(path: string): readonly Dirent[] | undefined {
  try {
    return readdirSync(path, { withFileTypes: true });
  } catch {
    return undefined; // gone meanwhile, or out of our own reach, and so out of the command's
  }
}
