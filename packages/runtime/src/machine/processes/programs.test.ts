import { chmod, realpath } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { findProgram } from "./programs.ts";

test("rg is bundled with the runtime, whatever the PATH", async () => {
  const found = await findProgram("rg", { roots: [], path: "" });
  expect(isAbsolute(found ?? "")).toBe(true);
});

test("a program is searched under all of its names, and its real path is returned", async () => {
  const { path, make } = await scratchFolder();
  await make({ "bin/real-fd": "#!/bin/sh\n", "links/fdfind": "-> ../bin/real-fd", "not-runnable/fd": "" });
  await chmod(join(path, "bin/real-fd"), 0o755);
  const search = ["not-runnable", "nowhere", "links"].map((folder) => join(path, folder)).join(":");
  expect(await findProgram("fd", { roots: [], path: search })).toBe(await realpath(join(path, "bin/real-fd")));
});

test("programs in a root, linked into one, or on a relative PATH are never called", async () => {
  const { path, make } = await scratchFolder();
  await make({ "root/bin/fd": "#!/bin/sh\n", "links/fd": "-> ../root/bin/fd" });
  await chmod(join(path, "root/bin/fd"), 0o755);
  const roots = [join(path, "root")];
  for (const search of [join(path, "root/bin"), join(path, "links"), "root/bin", ".", ""]) {
    expect(await findProgram("fd", { roots, path: search }), search).toBeUndefined();
  }
});
