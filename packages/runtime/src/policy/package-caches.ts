import { isInside } from "../paths/inside.ts";
import type { GitPlaces } from "./facts.ts";
import { foldPath } from "./fold-name.ts";

/**
 * Folders with a dot in `node_modules` that are not caches: package managers keep programs or packages there, or run what
 * is there. Where another one holds what this program loads, `own-packages.ts` finds it by that.
 */
// oxfmt-ignore
const KEPT: ReadonlySet<string> = new Set([
  ".bin", ".hooks",                                       // programs; scripts that older versions of npm run
  ".pnpm", ".store", ".deno", ".bun", ".aspect_rules_js", // packages: pnpm, npm and Yarn with links, Deno, Bun, Bazel
  ".staging", ".ignored", ".yarn-integrity",              // what is moved into place later, and state
]);

/** Repositories, what pnpm sets aside, hidden files of state (`.package-lock.json`, `.modules.yaml`, `.yarn-state.yml`). */
const KEPT_SHAPE = /\.git$|^\.ignored_|\.(?:[cm]?js|json|node|ya?ml)$/;

/** Whether a name in `node_modules` is that of a cache. Node.js looks for packages by names without a dot at the start. */
export function isCacheName(name: string): boolean {
  if (!name.startsWith(".")) return false;
  const folded = foldPath(name);
  return /^\.[^.]/.test(folded) && !KEPT.has(folded) && !KEPT_SHAPE.test(folded);
}

const MODULES = "/node_modules";

type NamedPlace = GitPlaces[number];

/** Whether caches may lie directly in it: a folder that packages are imported from, under the name that tools know. */
export function mayHoldCaches({ path, is_packages }: Pick<NamedPlace, "path" | "is_packages">): boolean {
  return is_packages === true && path.endsWith(MODULES);
}

/**
 * Whether a path is what the place names, or lies in it; not where it is, or lies in, a cache of a folder of packages. `at`:
 * the path of the place in the form in which it is compared.
 */
export function isAtPlace(path: string, place: Pick<NamedPlace, "path" | "is_packages">, at = place.path): boolean {
  if (!isInside(at, path)) return false;
  return !mayHoldCaches(place) || !isCacheName(path.slice(at.length + 1).replace(/\/.*/s, ""));
}
