import { join } from "node:path";
import { autonous } from "./cli.ts";
import type { Ended } from "./cli.ts";
import { scratchFolder, stateOf } from "./scratch.ts";
import type { Folder } from "./scratch.ts";

export interface Workspace extends Folder {
  readonly root: string;
  /** Where its state is, once something was recorded. */
  readonly state_dir: string;
  readonly env: Readonly<Record<string, string>>;
  /** The built command line in the workspace, without a terminal. */
  run(...words: readonly string[]): Promise<Ended>;
  json<T = Readonly<Record<string, unknown>>>(...words: readonly string[]): Promise<T>;
}

/** The user's own configuration, as a name for `workspace`. */
export const OWN_CONFIG = "config/autonous/config.json";

/** A folder `work/` with `a.txt` in it, and the user's own folders beside it. Files are named as in `Folder.make`. */
export async function workspace(files: Readonly<Record<string, string>> = {}): Promise<Workspace> {
  const folder = await scratchFolder();
  const { path, make } = folder;
  await make({ "work/a.txt": "a", ...files });
  const root = join(path, "work");
  const env = { XDG_STATE_HOME: join(path, "state"), XDG_CONFIG_HOME: join(path, "config"), CI: "" };
  const run = (...words: readonly string[]) => autonous(words, { cwd: root, env });
  return {
    ...folder,
    root,
    state_dir: stateOf(root, env),
    env,
    run,
    json: async <T>(...words: readonly string[]) => JSON.parse((await run(...words, "--json")).stdout) as T,
  };
}
