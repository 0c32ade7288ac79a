import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { holdingFile, isStateFolderLocked, lockStateFolder, tryHoldFile } from "./state-lock.ts";

function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "state-lock-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Whether another process can lock this file. */
function canOtherHold(path: string): boolean {
  const script = `
    import { tryHoldFile } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, "state-lock.ts")).href)};
    process.stdout.write(String(tryHoldFile(${JSON.stringify(path)}) !== undefined));`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module-typescript", "--eval", script]);
  expect(["true", "false"], stderr.toString()).toContain(stdout.toString());
  return stdout.toString() === "true";
}

test("only this user can read a lock file, and another process can lock it once it is released", () => {
  const path = join(scratchFolder(), "a.lock");
  const letGo = tryHoldFile(path);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(canOtherHold(path)).toBe(false);
  letGo?.();
  expect(canOtherHold(path)).toBe(true);
});

test("a folder stays locked when the same process tries to lock it again and is refused", () => {
  const state_dir = scratchFolder();
  const unlock = lockStateFolder(state_dir);
  onTestFinished(() => unlock?.());
  expect(unlock).toBeDefined();

  expect(lockStateFolder(state_dir)).toBeUndefined();
  expect(isStateFolderLocked(state_dir)).toBe(true);

  expect(canOtherHold(join(state_dir, "serve.lock"))).toBe(false);
});

test("a file stays locked during the work when the same process tries to lock it meanwhile", () => {
  const path = join(scratchFolder(), "a.lock");
  const told = holdingFile(path, () => ({ again: tryHoldFile(path), other: canOtherHold(path) }));
  expect(told).toEqual({ again: undefined, other: false });
});
