import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { runsLater } from "../../policy/check-path.ts";
import { FIXED_FOLDERS } from "../../policy/dangers.ts";
import { foldPath } from "../../policy/fold-name.ts";
import type { PlaceRow } from "../../policy/places.ts";
import { RUN_LATER } from "../../policy/run-later.ts";

/** A link that stands where a file that runs later is looked for: what it leads to runs later too. */
interface LaterLink {
  /** Of the link, or below it. Not resolved. */
  readonly path: string;
  readonly why: string;
}

/** What is looked for in a folder, by the name of the folder: `tasks.json` of `.vscode/tasks.json`. */
const BELOW = new Map<string, string[]>();
for (const path of RUN_LATER.flatMap(({ paths }: PlaceRow) => paths)) {
  const [folder = "", ...rest] = path.split("/");
  if (folder === "" || folder === ".git" || rest.length === 0) continue;
  // A name with a star may be any name in the folder.
  const end = rest.findIndex((name) => name.includes("*"));
  const fixed = end < 0 ? rest : rest.slice(0, end);
  BELOW.set(foldPath(folder), [...(BELOW.get(foldPath(folder)) ?? []), fixed.join("/")]);
}

/** Links in a folder, by their names, that lead a program to what it runs or obeys later. */
export function laterLinks(
  folder: string,
  links: readonly string[],
  ground: { readonly roots: readonly string[] },
): readonly LaterLink[] {
  return links.flatMap((name) => {
    // A repository is known by what is in it, wherever it lies.
    if (name === ".git") return [];
    const path = join(folder, name);
    const why = `"${name}" is a link to it`;
    if (runsLater(path, ground) !== undefined || FIXED_FOLDERS.has(foldPath(name))) return [{ path, why }];
    return (BELOW.get(foldPath(name)) ?? []).map((rest) => ({ path: join(path, rest), why }));
  });
}

/** What git runs or obeys in the folder of a repository. */
const GITS = ["hooks", "config", "config.worktree", "info", "info/attributes"];

/** The same in the folder of a repository: its hooks as a whole, and each of them. */
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
    return []; // not there, or out of reach
  }
}

function isLink(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  } catch {
    return false; // out of reach, and so out of git's
  }
}
