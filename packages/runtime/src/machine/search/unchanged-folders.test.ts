import { closeSync, renameSync, statSync, symlinkSync, unlinkSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { scratch, scratchFolder } from "../../../../../test/support/scratch.ts";
import { openFolder } from "../system/handle.ts";
import { UnchangedFolders } from "./unchanged-folders.ts";

function open(path: string): number {
  const fd = openFolder(path);
  onTestFinished(() => closeSync(fd));
  return fd;
}

/** Waits until a folder's last change is old enough. */
async function untilOld(path: string): Promise<void> {
  while (Date.now() - statSync(path).ctimeMs < 150) await new Promise((resolve) => setImmediate(resolve));
}

test("an unchanged folder is still; one that was changed, even for a moment, is not", async () => {
  const { path, make } = await scratchFolder();
  await make({ "quiet/a": "", "flipped/inner/a": "", "outside/a": "" });
  const [quiet, flipped] = [open(join(path, "quiet")), open(join(path, "flipped"))];
  expect(new UnchangedFolders(quiet).isStill(quiet)).toBe(false); // just created
  await untilOld(join(path, "flipped"));
  const still = new UnchangedFolders(quiet);
  expect(still.isStill(quiet)).toBe(true);
  expect(still.isStill(flipped)).toBe(true);
  renameSync(join(path, "flipped/inner"), join(path, "away"));
  symlinkSync("../outside", join(path, "flipped/inner"));
  unlinkSync(join(path, "flipped/inner"));
  renameSync(join(path, "away"), join(path, "flipped/inner"));
  utimesSync(join(path, "flipped"), 1, 1); // setting the mtime does not help
  expect(still.isStill(flipped)).toBe(false);
  expect(still.isStill(quiet)).toBe(true);
});

test("a folder on another, or an unknown, file system never counts as still", async () => {
  const { path } = await scratchFolder();
  const [own, processes] = [open(path), open(`/proc/${process.pid}`)];
  await untilOld(path);
  expect(new UnchangedFolders(own).isStill(processes)).toBe(false);
  expect(new UnchangedFolders(processes).isStill(processes)).toBe(false);
});

test("an unchanged tree is searched like any other", async () => {
  const { path, make, call } = await scratch();
  const far = `${"word ".repeat(40_000)}needle`;
  await make({
    "root/a/x.txt": "needle\r\nno\n",
    "root/a/long.txt": far,
    "root/link": "-> a",
    "root/.ssh/x": "needle\n",
  });
  await make({ "root/a/b/y.txt": "\ufeffneedle\n" });
  for (const folder of ["", "a", "a/b"]) await untilOld(join(path, "root", folder));
  const { payload } = await call("grep", { pattern: "needle" });
  expect(payload?.stdout).toMatch(
    /^a\/b\/y\.txt:1:needle\na\/long\.txt:1:\[\+\d+ bytes\]…(word )+needle\na\/x\.txt:1:needle\n$/,
  );
  const found = await call("find", { name_pattern: "*.txt", type: "file" });
  expect(found.payload?.stdout).toBe("a/b/y.txt\na/long.txt\na/x.txt\n");
});
