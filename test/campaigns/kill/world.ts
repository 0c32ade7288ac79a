import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

/** A folder with everything that one service has: root, state, home. Nothing of it lies elsewhere. */
export interface World {
  readonly path: string;
  readonly root: string;
  readonly state_dir: string;
  readonly database: string;
  /** The program as it is published. */
  readonly program: string;
  /** Of every process of the world. */
  readonly environment: NodeJS.ProcessEnv;
  /** A word in the environment by which processes are found again. */
  readonly marker: string;
}

/** What commands and tools leave traces in. */
export const TRACES = ["notes", "appended", "written", "doomed"] as const;
const FILES = ["a.txt", "b.txt"] as const;

/** Everything that may lie directly in the root. */
export const ROOT_NAMES: readonly string[] = [...TRACES, ...FILES];

/** `tee` stands for what a person has to say yes to. */
const CONFIGURATION = { rules: [{ effect: "confirm", command: "tee *", reason: "needs a user" }] };

export interface WorldOptions {
  readonly program: string;
  readonly settings: Readonly<Record<string, string>>;
}

export function makeWorld({ program, settings }: WorldOptions): World {
  const path = realpathSync(mkdtempSync(join(tmpdir(), "autonous-kill-")));
  const root = join(path, "root");
  for (const name of TRACES) mkdirSync(join(root, name), { recursive: true });
  for (const name of FILES) writeFileSync(join(root, name), `${name}\n`.repeat(20));
  const home = join(path, "home");
  mkdirSync(join(home, "config/autonous"), { recursive: true });
  writeFileSync(join(home, "config/autonous/config.json"), JSON.stringify(CONFIGURATION));
  const state_dir = join(path, "state");
  const marker = `KILL_CAMPAIGN=${basename(path)}`;
  return {
    path,
    root,
    state_dir,
    database: join(state_dir, "autonous.db"),
    program,
    marker,
    environment: environment(),
  };

  function environment(): NodeJS.ProcessEnv {
    const own = Object.entries(process.env).filter(([name]) => !/^(AUTONOUS|TASK|TG|NODE|OTEL)_/.test(name));
    return {
      ...Object.fromEntries(own),
      HOME: home,
      XDG_CONFIG_HOME: join(home, "config"),
      XDG_STATE_HOME: join(home, "state"),
      XDG_CACHE_HOME: join(home, "cache"),
      NODE_COMPILE_CACHE: join(program, "../../compiled"),
      KILL_CAMPAIGN: basename(path),
      AUTONOUS_HTTP_PORT: "0",
      ...settings,
    };
  }
}
