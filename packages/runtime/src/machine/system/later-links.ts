import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { runsLater } from "../../policy/paths/check-path.ts";
import { FIXED_FOLDERS } from "../../policy/paths/dangers.ts";
import { foldPath } from "../../policy/paths/fold-name.ts";
import type { PlaceRow } from "../../policy/paths/places.ts";
import { RUN_LATER } from "../../policy/paths/run-later.ts";

/** A link at a path where programs look for a file to run later: its target runs later too. */
interface LaterLink {
  /** The path of the link, or a path below it. Not resolved. */
  readonly path: string;
  readonly why: string;
}

/** By folder name, the files that programs look for in it: `tasks.json` of `.vscode/tasks.json`. */
const BELOW = new Map<string, string[]>();
for (const path of RUN_LATER.flatMap(({ paths }: PlaceRow) => paths)) {
  const [folder = "", ...rest] = path.split("/");
  if (folder === "" || folder === ".git" || rest.length === 0) continue;
  // A wildcard may match any name in the folder.
  const end = rest.findIndex((name) => name.includes("*"));
  const fixed = end < 0 ? rest : rest.slice(0, end);
  BELOW.set(foldPath(folder), [...(BELOW.get(foldPath(folder)) ?? []), fixed.join("/")]);
}

/** Links in a folder whose names lead a program to code or configuration that it uses later. */
export function laterLinks(
  folder: string,
  links: readonly string[],
  ground: { readonly roots: readonly string[] },
): readonly LaterLink[] {
  return links.flatMap((name) => {
    // Repositories are recognized by their contents, at any path.
    if (name === ".git") return [];
    const path = join(folder, name);
    const why = `"${name}" is a link to it`;
    if (runsLater(path, ground) !== undefined || FIXED_FOLDERS.has(foldPath(name))) return [{ path, why }];
    return (BELOW.get(foldPath(name)) ?? []).map((rest) => ({ path: join(path, rest), why }));
  });
}

/** Hooks and configuration in a repository's git folder. */
const GITS = ["hooks", "config", "config.worktree", "info", "info/attributes"];

/** Such links in a repository's git folder: the hooks folder itself, and each hook. */
export function linksInRepository(gitdir: string): readonly LaterLink[] {
  const hooks = linksIn(join(gitdir, "hooks")).map((name) => join(gitdir, "hooks", name));
  const own = GITS.map((name) => join(gitdir, name)).filter(isLink);
  return [...own, ...hooks].map((path) => ({ path, why: `"${path.slice(gitdir.length + 1)}" of git is a link to it` }));
}

function linksIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isSymbolicLink())
      .map(({ name }) => name);
  } catch {
    return []; // missing or not accessible
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  } catch {
    return false; // not accessible, so git cannot read it either
  }
}
