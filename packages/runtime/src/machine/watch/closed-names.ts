import { isHiddenName, runsLater } from "../../policy/check-path.ts";
import { RUN_LATER } from "../../policy/dangers.ts";
import type { WorkspaceContext } from "../../policy/decide.ts";
import { foldPath } from "../../policy/fold-name.ts";
import { compilePlaces } from "../../policy/places.ts";
import type { Place, TreeFolder } from "./tree-entry.ts";

const laterPlaces = compilePlaces(RUN_LATER);

/** Folders with which a place of a file that runs later may begin, e.g. `.vscode` of `.vscode/tasks.json`. */
const TELLING = new Set(RUN_LATER.flatMap(({ paths }) => paths.map((path) => path.replace(/\/.*/s, "").toLowerCase())));

/** Looked into before all else, and whatever git ignores. */
export function mayHoldLater(name: string): boolean {
  const folded = foldPath(name);
  return TELLING.has(folded) || folded.endsWith(".git");
}

/** Whether all that lies in a folder runs later. A name that means nothing tells. */
export function isLaterFolder(real: string, { roots }: WorkspaceContext): boolean {
  return runsLater(`${real}/-`, roots) !== undefined;
}

/** Asked for every file of the workspace: only a suspicious name costs more than a look at the name. */
export function placeOf(
  { real, isLater }: Pick<TreeFolder, "real" | "isLater">,
  name: string,
  workspace: WorkspaceContext,
): Place {
  if (isHiddenName(real, name, workspace)) return "sensitive";
  if (isLater) return "later";
  if (!laterPlaces.isSuspicious(foldPath(name))) return undefined;
  return runsLater(real === "/" ? `/${name}` : `${real}/${name}`, workspace.roots) === undefined ? undefined : "later";
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
export function laterBehind(real: string, { roots }: WorkspaceContext): string | undefined {
  const name = foldPath(real.slice(real.lastIndexOf("/") + 1));
  // Anywhere in a repository's own folder there may be another one's.
  const following = [...(FOLLOWING.get(name) ?? []), "hooks"];
  for (const rest of following) {
    const why = runsLater(`${real}/${rest}`, roots);
    if (why !== undefined) return why;
  }
  return undefined;
}

/** What git keeps for itself, by content: undone with the rest, and of no use to a reader. */
const STORE = /(?:^|\/)(?:[^/]*\.git|\.git\/.*)\/(?:objects|lfs|annex)\//s;

export function isInStore(real: string): boolean {
  return STORE.test(real);
}
