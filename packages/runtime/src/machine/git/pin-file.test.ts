import { execFileSync } from "node:child_process";
import { existsSync, lstatSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { pinFile } from "./pin-file.ts";

test("only regular files are held: a pipe or a link to one would block readers forever", async () => {
  const { path } = await scratchFolder();
  const at = (name: string): string => join(path, name);
  execFileSync("mkfifo", [at("pipe")]);
  symlinkSync("pipe", at("link"));
  writeFileSync(at("file"), "object");
  for (const name of ["pipe", "link"]) {
    expect(pinFile(at(name), at("held"))).toBe(false);
    expect(lstatSync(at("held"), { throwIfNoEntry: false })).toBeUndefined();
  }
  expect(pinFile(at("file"), at("held"))).toBe(true);
  expect(readFileSync(at("held"), "utf8")).toBe("object");
});

test("only regular files are copied to another file system", async () => {
  if (!existsSync("/dev/shm")) return; // this machine has no second file system
  const { path } = await scratchFolder();
  const other = mkdtempSync("/dev/shm/autonous-test-");
  onTestFinished(() => rmSync(other, { recursive: true }));
  execFileSync("mkfifo", [join(path, "pipe")]);
  symlinkSync("pipe", join(path, "link"));
  expect(pinFile(join(path, "pipe"), join(other, "held"))).toBe(false);
  expect(() => pinFile(join(path, "link"), join(other, "held"))).toThrow("ELOOP");
  expect(existsSync(join(other, "held"))).toBe(false);
});
