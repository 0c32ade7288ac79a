import { isInside } from "../../paths/inside.ts";
import type { Places } from "../../policy/facts.ts";

/** Whether it is known to run later by its path, whatever its name. */
export function isNamed(path: string, { git_places = [] }: Pick<Places, "git_places">): boolean {
  return git_places.some((named) => isInside(named.path, path));
}

/** Whether such a path leads through this folder. */
export function holdsNamed(path: string, { roots, git_places = [] }: Pick<Places, "roots" | "git_places">): boolean {
  return !roots.includes(path) && git_places.some((named) => isInside(path, named.path));
}
