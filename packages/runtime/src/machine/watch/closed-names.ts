import { isInside } from "../../paths/inside.ts";
import { findLaterPlace, isHiddenName, isInPackages, runsLater } from "../../policy/check-path.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import type { GitPlaces } from "../../policy/facts.ts";
import { foldPath } from "../../policy/fold-name.ts";
import { compilePlaces } from "../../policy/places.ts";
import { RUN_LATER } from "../../policy/run-later.ts";
import { isCacheAmong, isNamed } from "../sandbox/named-places.ts";
import { isSystemError } from "../files/system-error.ts";
import { decodeKey } from "../search/keys.ts";
import { childrenIn } from "./list-folder.ts";
import { joinKey } from "./tree-entry.ts";
import type { Place, TreeFolder } from "./tree-entry.ts";

const laterPlaces = compilePlaces(RUN_LATER);

/** Folders with which a place of a file that runs later may begin, e.g. `.vscode` of `.vscode/tasks.json`. */
const TELLING = new Set(RUN_LATER.flatMap(({ paths }) => paths.map((path) => path.replace(/\/.*/s, "").toLowerCase())));

/** Looked into before all else, and whatever git ignores. */
export function mayHoldLater(real: string, { git_places = [] }: Pick<WorkspaceContext, "git_places">): boolean {
  const folded = foldPath(real.slice(real.lastIndexOf("/") + 1));
  return TELLING.has(folded) || folded.endsWith(".git") || git_places.some(({ path }) => isInside(real, path));
}

/** Whether a folder is one of packages that this program loads: large, and read-only for commands in a sandbox. */
export function isLoadedPackages(real: string, { git_places = [] }: Pick<WorkspaceContext, "git_places">): boolean {
  return git_places.some(({ path, is_packages }) => is_packages === true && path === real);
}

/** Caches in such a folder, which commands may write to, by key. */
export function cachesInPackages(key: string, workspace: Pick<WorkspaceContext, "git_places">): readonly string[] {
  try {
    return childrenIn(key)
      .filter(({ isFolder }) => isFolder)
      .map(({ name }) => joinKey(key, name))
      .filter((cache) => isCacheAmong(decodeKey(cache), workspace));
  } catch (error) {
    if (isSystemError(error)) return []; // gone, or not to be listed by us and so not by a command
    throw error;
  }
}

/** The last names of what git's configuration names, folded. Remembered: the same list always has the same. */
const namesByPlaces = new WeakMap<GitPlaces, ReadonlySet<string>>();

function isNamedByGit(folded: string, { git_places }: Pick<WorkspaceContext, "git_places">): boolean {
  if (git_places === undefined || git_places.length === 0) return false;
  const known = namesByPlaces.get(git_places);
  const names = known ?? new Set(git_places.map(({ path }) => foldPath(path.slice(path.lastIndexOf("/") + 1))));
  if (known === undefined) namesByPlaces.set(git_places, names);
  return names.has(folded);
}

/** Whether all that lies in a folder runs later. A name that means nothing tells. */
export function isLaterFolder(real: string, workspace: WorkspaceContext): boolean {
  return isLaterHere(`${real}/-`, workspace);
}

/**
 * Whether a command may not make or change it. Among packages that is so of repositories and of what git's configuration
 * names: a sandbox leaves all else there writable, so that package managers work, and no program looks for it there.
 */
function isLaterHere(real: string, workspace: WorkspaceContext): boolean {
  const place = findLaterPlace(real, workspace);
  if (place === undefined || !isInPackages(real, workspace)) return place !== undefined;
  return place.telling.endsWith(".git") || isNamed(real, workspace);
}

/** Asked for every file of the workspace: only a suspicious name costs more than a look at the name. */
export function placeOf(
  { real, isLater }: Pick<TreeFolder, "real" | "isLater">,
  name: string,
  workspace: WorkspaceContext,
): Place {
  if (isHiddenName(real, name, workspace)) return "sensitive";
  if (isLater) return "later";
  const path = real === "/" ? `/${name}` : `${real}/${name}`;
  const folded = foldPath(name);
  if (!laterPlaces.isSuspicious(folded) && !isNamedByGit(folded, workspace)) return undefined;
  return isLaterHere(path, workspace) ? "later" : undefined;
}

/** What may follow a name in the place of a file that runs later: `.vscode` is followed by `tasks.json`, by `mcp.json` … */
const FOLLOWING = new Map<string, Set<string>>();
for (const path of RUN_LATER.flatMap(({ paths }) => paths)) {
  const names = path.toLowerCase().split("/");
  for (const [at, name] of names.slice(0, -1).entries()) {
    const rest = names.slice(at + 1).filter((each) => each !== "**");
    FOLLOWING.set(name, (FOLLOWING.get(name) ?? new Set()).add(rest.join("/")));
  }
}

/** Why something that runs later would be looked for behind a link: it stands in the place of a folder then. */
export function laterBehind(real: string, workspace: WorkspaceContext): string | undefined {
  const name = foldPath(real.slice(real.lastIndexOf("/") + 1));
  // Anywhere in a repository's own folder there may be another one's.
  const following = [...(FOLLOWING.get(name) ?? []), "hooks"];
  for (const rest of following) {
    const path = `${real}/${rest}`;
    if (isLaterHere(path, workspace)) return runsLater(path, workspace);
  }
  return workspace.git_places?.find(({ path }) => isInside(real, path))?.why;
}

/** What git keeps for itself, by content: undone with the rest, and of no use to a reader. */
const STORE = /(?:^|\/)(?:[^/]*\.git|\.git\/.*)\/(?:objects|lfs|annex)\//s;

export function isInStore(real: string): boolean {
  return STORE.test(real);
}
