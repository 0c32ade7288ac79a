import type { ProjectNotes } from "../contract/notes.ts";
import { findNotes } from "../machine/notes/find-notes.ts";
import { configurationFolder } from "../machine/skills/skill-sources.ts";
import { homeFolder } from "../own-files/home-folder.ts";
import { judgePlace } from "../policy/paths/check-path.ts";
import { mayLook } from "./may-look.ts";
import type { LookOptions } from "./may-look.ts";
import { prepareStart } from "./start.ts";

/**
 * The notes that people write for agents, such as `AGENTS.md`, from the workspace and the user. Reads only what the
 * `read` tool may read without approval, runs nothing, and never throws because of file contents.
 */
export function readNotes({ settings, ...options }: LookOptions): ProjectNotes {
  const { cwd, workspace } = prepareStart({ ...options, checkpoint_handler: false, looking: true });
  const home = homeFolder();
  return findNotes({
    workspace,
    cwd,
    home,
    configuration: configurationFolder({ home, environment: process.env }),
    judge(real) {
      const closed = judgePlace(real, workspace);
      if (closed !== undefined) return closed.reason;
      const { effect, rule } = mayLook({ access: "read", path: real }, workspace, settings);
      return effect === "ALLOW" ? undefined : `the policy does not let tools read it without approval (${rule})`;
    },
  });
}
