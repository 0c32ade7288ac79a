import { ToolError } from "../../protocol/errors.ts";
import { endlessBelow, endlessFrom } from "./ignore-files.ts";
import type { EndlessFile } from "./ignore-files.ts";
import { decodeKey } from "./keys.ts";
import type { SearchPlace } from "./place.ts";
import type { VerifiedTree } from "./verified-tree.ts";

interface ObstacleOptions {
  readonly tree: VerifiedTree;
  readonly signal: AbortSignal;
}

/**
 * Finds ignore files that would keep an engine waiting for ever. Those in the folder and above it are looked at before
 * an engine starts: throws where there is one. Below there are too many to look at before every search; gives what looks
 * for them once the engine stands still.
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

/** Below the searched folder a path is relative, and undefined where no tool may name it. */
function shownOf(key: string, top: string, tree: VerifiedTree): string | undefined {
  const start = top === "/" ? "/" : `${top}/`;
  if (!key.startsWith(start)) return decodeKey(key);
  const below = key.slice(start.length);
  return tree.judge(below) === "open" ? decodeKey(below) : undefined;
}
