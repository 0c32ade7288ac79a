import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createFileChanger } from "../../packages/runtime/src/machine/files/file-changer.ts";
import { createCommandWatch } from "../../packages/runtime/src/machine/watch/command-watch.ts";
import type { CommandWatch, WatchRequest } from "../../packages/runtime/src/machine/watch/command-watch.ts";
import type { TreeLimits } from "../../packages/runtime/src/machine/tree/tree-limits.ts";
import type { CommandChanges } from "../../packages/runtime/src/contract/command-changes.ts";
import { snapshot } from "../campaigns/undo/tree.ts";
import { scratch } from "./scratch.ts";

/** Never late, so that a slow machine finds the same as a fast one. */
const PATIENT = { look_ms: 600_000 };

/** A real runtime on a real folder, and beside it a watch that works with the same record. */
export async function scratchWatch(options: { limits?: Partial<TreeLimits>; sandbox?: string } = {}) {
  const folder = await scratch({ onApproval: () => ({ answer: "grant" as const }) });
  const root = join(folder.path, "root");
  const { state_dir, run_id } = folder.runtime;
  const workspace = {
    roots: [root],
    home: "/none",
    state_dirs: [state_dir],
    checkpoint_handler: false,
    sandbox: options.sandbox ?? "none",
  };
  const changer = createFileChanger({ state_dir, clock: Date.now, workspace });
  onTestFinished(() => changer.close());
  const limits = { ...PATIENT, ...options.limits };
  const open = (): CommandWatch => {
    const opened = createCommandWatch({ state_dir, changer, workspace, cwd: root, limits });
    onTestFinished(() => opened.close());
    return opened;
  };
  const watch = open();
  const sh = (script: string): void =>
    void execFileSync("bash", ["-c", script], { cwd: root, stdio: ["ignore", "ignore", "pipe"], env: ENVIRONMENT });
  const before = (more: Partial<WatchRequest> = {}, by = watch) =>
    by.before({
      run_id,
      tool_call_id: "call_1",
      recorded: () => Promise.resolve(),
      signal: new AbortController().signal,
      ...more,
    });
  const run = async (script: string, more: Partial<WatchRequest> = {}, by = watch): Promise<CommandChanges> => {
    const detection = await before(more, by);
    sh(script);
    return await detection.after();
  };
  return {
    ...folder,
    root,
    changer,
    watch,
    before,
    sh,
    /** Runs a command between two looks. */
    run,
    /** The same as a new process does it: nothing is known of earlier looks. */
    runAgain: (script: string, more: Partial<WatchRequest> = {}) => run(script, more, open()),
    /** A line for everything below the root, with modes, contents and links. */
    snapshot: () => snapshot(root).split("\n"),
    undo: (id: string | undefined) => folder.runtime.undo(id ?? "undo_none"),
    make: (files: Readonly<Record<string, string>>) =>
      folder.make(Object.fromEntries(Object.entries(files).map(([name, content]) => [`root/${name}`, content]))),
    read: (name: string) => readFileSync(join(root, name), "utf8"),
    names: () => readdirSync(root, { recursive: true, encoding: "utf8" }).sort(),
  };
}

export const ENVIRONMENT = {
  PATH: process.env["PATH"],
  HOME: "/nonexistent",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_SYSTEM: "/dev/null",
  GIT_AUTHOR_NAME: "a",
  GIT_AUTHOR_EMAIL: "a@example.org",
  GIT_COMMITTER_NAME: "a",
  GIT_COMMITTER_EMAIL: "a@example.org",
};
