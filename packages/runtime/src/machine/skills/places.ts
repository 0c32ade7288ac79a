import { isAbsolute, join } from "node:path";
import type { SkillSource } from "../../contract/skills.ts";

/** A folder whose folders are skills. */
export interface SkillPlace {
  readonly source: SkillSource;
  readonly folder: string;
}

/**
 * Where skills are looked for; the first one of a name wins. The person's own come before those of a project, so that
 * opening a workspace never puts another skill in the place of one that is in use. A plain `skills` folder is not among
 * them: projects keep there what they publish, or something else altogether.
 */
// oxfmt-ignore
const PLACES = [
  { source: "user",    in: "configuration", path: "autonous/skills" },
  { source: "user",    in: "home",          path: ".agents/skills" },
  { source: "user",    in: "home",          path: ".claude/skills" },
  { source: "project", in: "workspace",     path: ".agents/skills" },
  { source: "project", in: "workspace",     path: ".claude/skills" },
] as const satisfies readonly { source: SkillSource; in: string; path: string }[];

export interface PlacesOptions {
  readonly roots: readonly string[];
  /** Its skills come before those of the roots, for it is inside one of them. */
  readonly cwd: string;
  readonly home: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export function placesOfSkills({ roots, cwd, home, environment }: PlacesOptions): readonly SkillPlace[] {
  const configured = environment["XDG_CONFIG_HOME"];
  const folders = {
    configuration: [configured !== undefined && isAbsolute(configured) ? configured : join(home, ".config")],
    home: [home],
    workspace: [...new Set([cwd, ...roots])],
  } as const;
  return PLACES.flatMap((place) =>
    folders[place.in].map((folder) => ({ source: place.source, folder: join(folder, place.path) })),
  );
}
