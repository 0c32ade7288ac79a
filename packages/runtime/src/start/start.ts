import { randomBytes } from "node:crypto";
import { realpathSync, writeFileSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { headsFolder } from "../journal/heads.ts";
import { resolvePath } from "../machine/system/resolve.ts";
import { configurationFolder } from "../machine/skills/skill-sources.ts";
import { checkRoots } from "../machine/system/roots.ts";
import { isInside } from "../paths/inside.ts";
import { judgePlace } from "../policy/paths/check-path.ts";
import type { WorkspaceContext } from "../policy/decide.ts";
import { ToolError } from "../protocol/errors.ts";
import { migrateState, migrationText } from "./migrate-state.ts";
import type { Migration } from "./migrate-state.ts";
import { aliasProblems, checkState, locateState, openState, splitRootsOf } from "./state-place.ts";
import type { StateOptions } from "./state-place.ts";
import { homeFolder } from "../own-files/home-folder.ts";
import { readOwnFile } from "../own-files/read-own-file.ts";

export interface StartOptions {
  readonly roots: readonly string[];
  readonly cwd?: string;
  readonly state_dir?: string;
  readonly checkpoint_handler: boolean;
  readonly tools?: readonly string[];
  /** Creates nothing until `makeState` is called. */
  readonly looking?: boolean;
}

export interface PreparedStart {
  readonly workspace: WorkspaceContext;
  readonly cwd: string;
  readonly state_dir: string;
  readonly heads: string;
  /** Creates the state folder if the start skipped that. Throws on failure. */
  readonly makeState: () => void;
}

/** Validates roots and folders, then creates the state folder. Throws with all problems at once. */
export function prepareStart(options: StartOptions): PreparedStart {
  if (process.platform !== "linux") {
    throw new ToolError(
      "InternalError",
      `Cannot start the runtime on ${process.platform}: it verifies open files through Linux's /proc`,
    );
  }
  const { roots: given, problems: rootProblems } = checkRoots(options.roots);
  const problems = [...rootProblems];
  const { cwd, stateOptions, wanted, roots, own } = placesOf(options, given, problems);
  const heads = headsFolder();
  const configured = configurationFolder({ home: homeFolder(), environment: process.env });
  const workspace = (state_dir: string): WorkspaceContext => ({
    roots,
    // Paths are evaluated as real paths, so these must be real too.
    home: resolvePath(homeFolder(), "/").real,
    // The user's configuration and trust files are closed like the record, wherever they are.
    state_dirs: [state_dir, resolvePath(dirname(heads), "/").real, resolvePath(configured, "/").real],
    ...(own.length === 0 ? {} : { own_roots: own }),
    checkpoint_handler: options.checkpoint_handler,
    ...(options.tools === undefined ? {} : { runtime_tools: options.tools }),
    sandbox: "none",
  });
  problems.push(...closedRoots(workspace(wanted)), ...aliasProblems(wanted, given));
  // Creates nothing if the start fails.
  if (problems.length === 0) {
    if (options.looking !== true) tellMigration(migrateState({ ...stateOptions, roots: given }));
    const check = { ...stateOptions, roots: given };
    const problem = options.looking === true ? checkState(check) : openState(check).problem;
    if (problem !== undefined) problems.push(problem);
  }
  if (problems.length > 0 || cwd === undefined) throw cannotStart(problems);
  const makeState = (): void => {
    const { problem } = openState({ ...stateOptions, roots: given });
    if (problem !== undefined) throw cannotStart([problem]);
  };
  return { workspace: workspace(wanted), cwd, state_dir: wanted, heads, makeState };
}

interface StartPlaces {
  readonly cwd: string | undefined;
  readonly stateOptions: StateOptions;
  /** The requested state folder. */
  readonly wanted: string;
  readonly roots: readonly string[];
  /** The state folder, if it was given as a root. */
  readonly own: readonly string[];
}

/** The roots that tools may use. If the state folder is the only root, none is left. */
function placesOf({ cwd: named, state_dir }: StartOptions, given: readonly string[], problems: string[]): StartPlaces {
  const firstOpen = (): string | undefined =>
    given.find((root) => root !== locateState({ workspace: root, state_dir })) ?? given[0];
  const cwd = named === undefined ? firstOpen() : realFolder(named, "cwd", problems);
  const stateOptions = { workspace: cwd ?? "/", state_dir };
  const wanted = locateState(stateOptions);
  const { open, own } = splitRootsOf(wanted, given);
  const roots = open.length === 0 ? given : open;
  if (cwd !== undefined && roots.length > 0 && !roots.some((root) => isInside(root, cwd))) {
    const why = own.some((root) => isInside(root, cwd)) ? "is inside the state folder" : "is outside the roots";
    problems.push(`the working folder "${cwd}" ${why}`);
  }
  return { cwd, stateOptions, wanted, roots, own: open.length === 0 ? [] : own };
}

/** The host has no other callback for it. */
function tellMigration(migration: Migration | undefined): void {
  if (migration !== undefined) process.emitWarning(migrationText(migration), "AutonousWarning");
}

function cannotStart(problems: readonly string[]): ToolError {
  return new ToolError("InvalidArguments", `Cannot start the runtime: ${problems.join("; ")}`, { problems });
}

function closedRoots(workspace: WorkspaceContext): string[] {
  return workspace.roots.flatMap((root) => {
    const refusal = judgePlace(root, workspace);
    return refusal === undefined ? [] : [`the root "${root}" cannot be used: ${refusal.reason}`];
  });
}

function realFolder(path: string, name: string, problems: string[]): string | undefined {
  if (!isAbsolute(path)) {
    problems.push(`${name} "${path}" is not an absolute path`);
    return undefined;
  }
  try {
    return realpathSync(path);
  } catch (error) {
    problems.push(`${name} "${path}" cannot be opened (${(error as NodeJS.ErrnoException).code})`);
    return undefined;
  }
}

/** The key that seals this state folder's cursors; created on first use. */
export function readKey(state_dir: string): Uint8Array {
  const path = join(state_dir, "cursor.key");
  try {
    writeFileSync(path, randomBytes(32), { flag: "wx", mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return readOwnFile(path);
}
