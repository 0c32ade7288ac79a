import { dirname, isAbsolute, join } from "node:path";
import type { SkillSource } from "../../contract/skills.ts";
import { isInside } from "../../paths/inside.ts";

/** A folder that contains skills, directly or nested. */
export interface SkillPlace {
  readonly source: SkillSource;
  readonly folder: string;
}

/**
 * Where skills are searched; the first match for a name wins. The user's own skills come before those of a project, so
 * that opening a workspace never replaces a skill in use. A plain `skills` folder is not included: projects keep skills
 * to publish, or unrelated files, there.
 */
// oxfmt-ignore
const OWN_PLACES = [
  { in: "configuration", path: "autonous/skills" },
  { in: "home",          path: ".agents/skills" },
  { in: "home",          path: ".claude/skills" },
  { in: "home",          path: ".codex/skills" },
  { in: "home",          path: ".copilot/skills" },
  { in: "home",          path: ".cursor/skills" },
  { in: "configuration", path: "opencode/skills" },
  { in: "configuration", path: "opencode/skill" },
  { in: "home",          path: ".opencode/skills" },
  { in: "home",          path: ".opencode/skill" },
] as const;

/** In each folder of the workspace from the working folder up to its root, then in the other roots. */
// oxfmt-ignore
const PROJECT_PLACES = [
  ".agents/skills", ".claude/skills", ".codex/skills", ".github/skills", ".cursor/skills", ".opencode/skills", ".opencode/skill",
] as const;

export interface PlacesOptions {
  readonly roots: readonly string[];
  /** Skills in this folder come before those of its parents, if it is inside one of the roots. */
  readonly cwd: string;
  readonly home: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** The user's configuration folder for the runtime, which also contains the user's skills. */
export function configurationFolder(options: Pick<PlacesOptions, "home" | "environment">): string {
  return join(configurationsOf(options), "autonous");
}

function configurationsOf({ home, environment }: Pick<PlacesOptions, "home" | "environment">): string {
  const base = environment["XDG_CONFIG_HOME"];
  return base !== undefined && isAbsolute(base) ? base : join(home, ".config");
}

export function placesOfSkills(options: PlacesOptions): readonly SkillPlace[] {
  const { roots, cwd, home } = options;
  const folders = { configuration: configurationsOf(options), home };
  const own = OWN_PLACES.map(({ in: where, path }) => ({
    source: "user" as const,
    folder: join(folders[where], path),
  }));
  const project = [...new Set([...upToRoot(cwd, roots), ...roots])].flatMap((folder) =>
    PROJECT_PLACES.map((path) => ({ source: "project" as const, folder: join(folder, path) })),
  );
  return [...own, ...project];
}

/** The folder and its parents inside the roots, nearest first. */
function upToRoot(cwd: string, roots: readonly string[]): readonly string[] {
  const folders: string[] = [];
  for (let folder = cwd; roots.some((root) => isInside(root, folder)); folder = dirname(folder)) {
    folders.push(folder);
    if (folder === "/") break;
  }
  return folders;
}
