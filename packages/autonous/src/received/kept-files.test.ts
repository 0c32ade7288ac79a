import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openKept, readKept } from "./kept-files.ts";
import type { KeptPlace } from "./kept-files.ts";

function scratch(): KeptPlace & { readonly folder: string } {
  const state_dir = mkdtempSync(join(tmpdir(), "autonous-kept-"));
  onTestFinished(() => rmSync(state_dir, { recursive: true }));
  return { state_dir, run_id: "run_1", id: "1", folder: join(state_dir, "runs/run_1/received") };
}

test("a file is stored under its final name, and read only if it is unchanged", () => {
  const { folder, ...place } = scratch();
  const writer = openKept(place);
  for (const piece of ["all ", "of it"]) writer.write(Buffer.from(piece));
  const kept = writer.keep();
  expect(readdirSync(folder)).toEqual(["1"]);
  expect(readKept(place, kept)?.toString()).toBe("all of it");
  expect(readKept(place, { ...kept, sha256: "0" })).toBeUndefined();
});

test("a file that cannot be renamed reports why, and dropping it leaves nothing", () => {
  const { folder, ...place } = scratch();
  mkdirSync(join(folder, "1/in the way"), { recursive: true });
  const writer = openKept(place);
  writer.write(Buffer.from("x"));
  expect(() => writer.keep()).toThrow(/EISDIR|ENOTEMPTY/);
  writer.drop();
  expect(readdirSync(folder)).toEqual(["1"]);
});
