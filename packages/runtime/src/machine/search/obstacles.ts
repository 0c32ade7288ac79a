import { ToolError } from "../../protocol/errors.ts";
import { endlessBelow, endlessFrom } from "./ignore-files.ts";
import type { EndlessFile } from "./ignore-files.ts";
import { decodeKey } from "../system/keys.ts";
import type { SearchPlace } from "./place.ts";
import type { VerifiedTree } from "./verified-tree.ts";

interface ObstacleOptions {
  readonly tree: VerifiedTree;
  readonly signal: AbortSignal;
}

/**
 * Finds ignore files that would block an engine forever. The folder and its parents are checked before an engine
 * starts: throws if one is found. Subfolders are too many to check before every search, so this returns a function that
 * checks them once the engine makes no progress.
 */
export function obstaclesIn(place: SearchPlace, options: ObstacleOptions): () => Promise<Error | undefined> {
  const here = endlessFrom(place.real);
  if (here !== undefined) throw refusalOf(here, place, options);
  return async () => {
    const below = await endlessBelow(place.real, options.signal);
    return below && refusalOf(below, place, options);
  };
}

function refusalOf({ key, reason }: EndlessFile, { real }: SearchPlace, { tree }: ObstacleOptions): ToolError {
  const path = shownOf(key, real, tree);
  const file = path === undefined ? "an ignore file in a closed folder" : `"${path}"`;
  const name = key.slice(key.lastIndexOf("/") + 1);
  return new ToolError("IOError", `Cannot search: ${file} cannot be read: ${reason}`, {
    ...(path === undefined ? {} : { path }),
    hint: `Remove or rename this "${name}" and retry.`,
  });
}

/** Below the searched folder the path is relative, or undefined if tools may not see it. */
function shownOf(key: string, top: string, tree: VerifiedTree): string | undefined {
  const start = top === "/" ? "/" : `${top}/`;
  if (!key.startsWith(start)) return decodeKey(key);
  const below = key.slice(start.length);
  return tree.judge(below) === "open" ? decodeKey(below) : undefined;
}
