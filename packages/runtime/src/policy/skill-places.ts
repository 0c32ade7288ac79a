import { isInside } from "../paths/inside.ts";
import { judgeSensitivity } from "./check-path.ts";
import type { Places, ResolvedTouch } from "./facts.ts";

/** Remembered, not state: folded forms are kept per object, so one place is made once. */
const viewsByWorkspace = new WeakMap<Places, Map<string, Places>>();

/**
 * Where a path of a call may lead. A file of one of the user's own skills is judged as if the skill's folder were a root:
 * it may be read or listed, sensitive names in it stay closed, and so does everything outside it. The folder may lie in
 * that of the runtime's configuration, which is closed; the rest of that stays closed, for it is outside.
 */
export function placesOf<T extends Places>(
  { access, skill_folder }: Pick<ResolvedTouch, "access" | "skill_folder">,
  workspace: T,
): T {
  if (skill_folder === undefined || !isLook(access)) return workspace;
  let views = viewsByWorkspace.get(workspace);
  if (views === undefined) viewsByWorkspace.set(workspace, (views = new Map()));
  let view = views.get(skill_folder) as T | undefined;
  if (view === undefined) {
    const state_dirs = workspace.state_dirs.filter((folder) => !isInside(folder, skill_folder));
    // Only a folder that is closed for where it lies is judged from itself: in others, names from the top count.
    const from = judgeSensitivity(skill_folder, workspace) === undefined ? {} : { judged_from: skill_folder };
    view = { ...workspace, ...from, roots: [skill_folder], state_dirs, own_roots: undefined };
    views.set(skill_folder, view);
  }
  return view;
}

/** Whether a call only looks at what is there. */
export function isLook(access: ResolvedTouch["access"]): boolean {
  return access === "read" || access === "list";
}

/** The folder of a skill that a call looks into and that a path lies in. */
export function skillFolderAround(real: string, touches: readonly ResolvedTouch[]): string | undefined {
  return touches.find(({ skill_folder }) => skill_folder !== undefined && isInside(skill_folder, real))?.skill_folder;
}
