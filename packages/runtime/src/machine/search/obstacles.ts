import { ToolError } from "../../protocol/errors.ts";
import { endlessBelow, endlessFrom } from "./ignore-files.ts";
import type { EndlessFile } from "./ignore-files.ts";
import { decodeKey, keyOf } from "../system/keys.ts";
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

/** `rg: ./a/b: Permission denied (os error 13)`, `[fd error]: …` */
const READ_ERROR = /^(?:rg|\[fd error\]): \.\/(.+): ([^:]+?)(?: \(os error \d+\))?$/;
const MAX_READ_ERRORS = 20;

/**
 * Paths that an engine could not read, as far as they may be reported: each must exist inside the searched tree,
 * because an engine that followed a swapped link outside reports names from there, too.
 */
export function readErrorsOf(stderr: string, tree: VerifiedTree): string[] {
  const messages: string[] = [];
  for (const line of stderr.split("\n")) {
    if (messages.length === MAX_READ_ERRORS) break;
    const [, path, problem] = READ_ERROR.exec(line) ?? [];
    if (path === undefined || problem === undefined) continue;
    const key = keyOf(path);
    if (tree.judge(key) !== "open" || tree.lookAt(key) === undefined) continue;
    messages.push(`Cannot search "${decodeKey(key)}": ${problem.toLowerCase()}`);
  }
  tree.forget();
  return messages;
}
