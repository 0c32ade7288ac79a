import { isInside } from "../../paths/inside.ts";
import { findLaterPlace, isHiddenName, isInPackages, runsLater } from "../../policy/paths/check-path.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import type { GitPlaces } from "../../policy/facts.ts";
import { foldPath } from "../../policy/paths/fold-name.ts";
import { compilePlaces } from "../../policy/paths/places.ts";
import { RUN_LATER } from "../../policy/paths/run-later.ts";
import { isCacheAmong, isNamed } from "../sandbox/named-places.ts";
import { isSystemError } from "../system/system-error.ts";
import { decodeKey } from "../system/keys.ts";
import { childrenIn } from "../tree/list-folder.ts";
import { joinKey } from "../tree/tree-snapshot.ts";
import type { Place, TreeFolder } from "../tree/tree-snapshot.ts";

const laterPlaces = compilePlaces(RUN_LATER);

/** First folder names of run-later places, e.g. `.vscode` of `.vscode/tasks.json`. */
const TELLING = new Set(RUN_LATER.flatMap(({ paths }) => paths.map((path) => path.replace(/\/.*/s, "").toLowerCase())));

/** Such folders are scanned first, even where git ignores them. */
export function mayHoldLater(real: string, { git_places = [] }: Pick<WorkspaceContext, "git_places">): boolean {
  const folded = foldPath(real.slice(real.lastIndexOf("/") + 1));
  return TELLING.has(folded) || folded.endsWith(".git") || git_places.some(({ path }) => isInside(real, path));
}

/** Whether a folder contains packages that this program loads: large, and read-only for commands in a sandbox. */
export function isLoadedPackages(real: string, { git_places = [] }: Pick<WorkspaceContext, "git_places">): boolean {
  return git_places.some(({ path, is_packages }) => is_packages === true && path === real);
}

/** Keys of the caches in such a folder. Commands may write to them. */
export function cachesInPackages(key: string, workspace: Pick<WorkspaceContext, "git_places">): readonly string[] {
  try {
    return childrenIn(key)
      .filter(({ isFolder }) => isFolder)
      .map(({ name }) => joinKey(key, name))
      .filter((cache) => isCacheAmong(decodeKey(cache), workspace));
  } catch (error) {
    if (isSystemError(error)) return []; // gone, or not readable for us and so not for a command
    throw error;
  }
}

/** Case-folded base names of the paths in git's configuration, cached per list. */
const namesByPlaces = new WeakMap<GitPlaces, ReadonlySet<string>>();

function isNamedByGit(folded: string, { git_places }: Pick<WorkspaceContext, "git_places">): boolean {
  if (git_places === undefined || git_places.length === 0) return false;
  const known = namesByPlaces.get(git_places);
  const names = known ?? new Set(git_places.map(({ path }) => foldPath(path.slice(path.lastIndexOf("/") + 1))));
  if (known === undefined) namesByPlaces.set(git_places, names);
  return names.has(folded);
}

/** Whether everything in a folder runs later. Tested with a name that has no meaning of its own. */
export function isLaterFolder(real: string, workspace: WorkspaceContext): boolean {
  return isLaterHere(`${real}/-`, workspace);
}

/**
 * Whether a command may not make or change it. Inside package folders this holds only for repositories and for paths in
 * git's configuration: a sandbox leaves the rest writable, so that package managers work, and no program runs it.
 */
function isLaterHere(real: string, workspace: WorkspaceContext): boolean {
  const place = findLaterPlace(real, workspace);
  if (place === undefined || !isInPackages(real, workspace)) return place !== undefined;
  return place.telling.endsWith(".git") || isNamed(real, workspace);
}

/** Called for every file of the workspace, so only suspicious names take the slow path. */
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

/** Names that may follow a name in a run-later place: `.vscode` is followed by `tasks.json`, `mcp.json` … */
const FOLLOWING = new Map<string, Set<string>>();
for (const path of RUN_LATER.flatMap(({ paths }) => paths)) {
  const names = path.toLowerCase().split("/");
  for (const [at, name] of names.slice(0, -1).entries()) {
    const rest = names.slice(at + 1).filter((each) => each !== "**");
    FOLLOWING.set(name, (FOLLOWING.get(name) ?? new Set()).add(rest.join("/")));
  }
}

/** Why programs would look for a run-later file behind a link: the link has the name of a folder of such files. */
export function laterBehind(real: string, workspace: WorkspaceContext): string | undefined {
  const name = foldPath(real.slice(real.lastIndexOf("/") + 1));
  // A `.git` folder may contain further repositories at any depth.
  const following = [...(FOLLOWING.get(name) ?? []), "hooks"];
  for (const rest of following) {
    const path = `${real}/${rest}`;
    if (isLaterHere(path, workspace)) return runsLater(path, workspace);
  }
  return workspace.git_places?.find(({ path }) => isInside(real, path))?.why;
}

/** Git's content-addressed storage: undone with the rest, and not useful in a list of changes. */
const STORE = /(?:^|\/)(?:[^/]*\.git|\.git\/.*)\/(?:objects|lfs|annex)\//s;

export function isInStore(real: string): boolean {
  return STORE.test(real);
}
