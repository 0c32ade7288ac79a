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
  { source: "user",    in: "configuration", path: "skills" },
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

/** Where a person keeps what is configured for the runtime, and their own skills. */
export function configurationFolder({ home, environment }: Pick<PlacesOptions, "home" | "environment">): string {
  const base = environment["XDG_CONFIG_HOME"];
  return join(base !== undefined && isAbsolute(base) ? base : join(home, ".config"), "autonous");
}

export function placesOfSkills({ roots, cwd, home, environment }: PlacesOptions): readonly SkillPlace[] {
  const folders = {
    configuration: [configurationFolder({ home, environment })],
    home: [home],
    workspace: [...new Set([cwd, ...roots])],
  } as const;
  return PLACES.flatMap((place) =>
    folders[place.in].map((folder) => ({ source: place.source, folder: join(folder, place.path) })),
  );
}
