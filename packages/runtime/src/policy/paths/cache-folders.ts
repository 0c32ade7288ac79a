import { isInside } from "../../paths/inside.ts";
import type { GitPlaces } from "../facts.ts";
import { foldPath } from "./fold-name.ts";

/**
 * Dot folders in `node_modules` that are not caches: package managers store programs or packages there, or run files
 * from there. Other folders that contain what this program loads are found by `own-packages.ts`.
 */
// oxfmt-ignore
const KEPT: ReadonlySet<string> = new Set([
  ".bin", ".hooks",                                       // programs; scripts that older versions of npm run
  ".pnpm", ".store", ".deno", ".bun", ".aspect_rules_js", // packages: pnpm, npm and Yarn with links, Deno, Bun, Bazel
  ".staging", ".ignored", ".yarn-integrity",              // staged files, and state
]);

/**
 * Repositories, packages moved away by pnpm, hidden state files (`.package-lock.json`, `.modules.yaml`,
 * `.yarn-state.yml`).
 */
const KEPT_SHAPE = /\.git$|^\.ignored_|\.(?:[cm]?js|json|node|ya?ml)$/;

/** Whether a name in `node_modules` is a cache. Node.js never resolves packages whose name starts with a dot. */
export function isCacheName(name: string): boolean {
  if (!name.startsWith(".")) return false;
  const folded = foldPath(name);
  return /^\.[^.]/.test(folded) && !KEPT.has(folded) && !KEPT_SHAPE.test(folded);
}

const MODULES = "/node_modules";

type NamedPlace = GitPlaces[number];

/** Whether it may directly contain caches: a folder that packages are imported from, named `node_modules`. */
export function mayHoldCaches({ path, is_packages }: Pick<NamedPlace, "path" | "is_packages">): boolean {
  return is_packages === true && path.endsWith(MODULES);
}

/**
 * Whether a path is the place or below it; false for a cache in a packages folder and everything in it. `at`: the path
 * of the place in the form used for comparison.
 */
export function isAtPlace(path: string, place: Pick<NamedPlace, "path" | "is_packages">, at = place.path): boolean {
  if (!isInside(at, path)) return false;
  return !mayHoldCaches(place) || !isCacheName(path.slice(at.length + 1).replace(/\/.*/s, ""));
}
