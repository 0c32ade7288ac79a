import { isInside } from "../../paths/inside.ts";
import { judgeSensitivity } from "./check-path.ts";
import type { Places, ResolvedTouch } from "../facts.ts";

/** A cache, not state: folded forms are cached per object, so each place is created once. */
const viewsByWorkspace = new WeakMap<Places, Map<string, Places>>();

/**
 * Where a path of a call may lead. A file of one of the user's own skills is checked as if the skill's folder were a
 * root: it may be read or listed; sensitive names in it, and everything outside it, stay closed. The folder may be
 * inside the runtime's configuration folder, which otherwise stays closed.
 */
export function placesOf<T extends Places>(
  { access, skill_folder }: Pick<ResolvedTouch, "access" | "skill_folder">,
  workspace: T,
): T {
  if (skill_folder === undefined || !isReadAccess(access)) return workspace;
  let views = viewsByWorkspace.get(workspace);
  if (views === undefined) viewsByWorkspace.set(workspace, (views = new Map()));
  let view = views.get(skill_folder) as T | undefined;
  if (view === undefined) {
    const state_dirs = workspace.state_dirs.filter((folder) => !isInside(folder, skill_folder));
    // Only a folder that its location would close is checked relative to itself; in others, all names of the path count.
    const from = judgeSensitivity(skill_folder, workspace) === undefined ? {} : { judged_from: skill_folder };
    view = { ...workspace, ...from, roots: [skill_folder], state_dirs, own_roots: undefined };
    views.set(skill_folder, view);
  }
  return view;
}

/** Whether a call only reads or lists. */
export function isReadAccess(access: ResolvedTouch["access"]): boolean {
  return access === "read" || access === "list";
}

/** The folder of a skill that a call reads from and that contains a path. */
export function skillFolderAround(real: string, touches: readonly ResolvedTouch[]): string | undefined {
  return touches.find(({ skill_folder }) => skill_folder !== undefined && isInside(skill_folder, real))?.skill_folder;
}
