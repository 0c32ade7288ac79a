import { isInside } from "../../paths/inside.ts";
import type { Places } from "../../policy/facts.ts";
import { isAtPlace, isCacheName, mayHoldCaches } from "../../policy/paths/cache-folders.ts";

/** Whether its path is known to run later, regardless of its name. */
export function isNamed(path: string, { git_places = [] }: Pick<Places, "git_places">): boolean {
  return git_places.some((named) => isAtPlace(path, named));
}

/** Whether this folder contains such a path. */
export function holdsNamed(path: string, { roots, git_places = [] }: Pick<Places, "roots" | "git_places">): boolean {
  return !roots.includes(path) && git_places.some((named) => isInside(path, named.path));
}

/** Whether it is a cache in a run-later package folder, and does not itself contain run-later paths. */
export function isCacheAmong(path: string, { git_places = [] }: Pick<Places, "git_places">): boolean {
  const [folder, name] = [path.slice(0, path.lastIndexOf("/")), path.slice(path.lastIndexOf("/") + 1)];
  return (
    isCacheName(name) &&
    git_places.some((place) => mayHoldCaches(place) && place.path === folder) &&
    !git_places.some((place) => isInside(path, place.path) || isAtPlace(path, place))
  );
}

/** Whether a path is such a cache of a package folder, or inside one. */
export function isInCache(path: string, modules: string, ground: Pick<Places, "git_places">): boolean {
  const name = path.slice(modules.length + 1).replace(/\/.*/s, "");
  return isCacheAmong(`${modules}/${name}`, ground);
}
