import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { programPlaces } from "./own-program.ts";

const repository = join(import.meta.dirname, "../../../../..");

test("a root that holds this program has its packages and its search program among what runs later", () => {
  const places = programPlaces({ roots: [repository], home: "/nonexistent" });
  const paths = places.map(({ path }) => relative(repository, path));
  expect(paths).toContain("packages/runtime");
  expect(paths.filter((path) => path.startsWith("node_modules/@vscode/ripgrep")).length).toBeGreaterThan(0);
  expect(places.every(({ why }) => why === "this program runs it")).toBe(true);
});

test("so are the toolchains of a home that is a root, and nothing where neither lies in a root", async () => {
  const { path, make } = await scratchFolder();
  await make({ "home/.local/bin/tool": "", "home/.cargo/bin/cargo": "", "home/notes.txt": "", "work/bin/x": "" });
  const home = join(path, "home");
  expect(programPlaces({ roots: [home], home }).map((place) => relative(home, place.path))).toEqual([
    ".local/bin",
    ".cargo/bin",
  ]);
  expect(programPlaces({ roots: [join(path, "work")], home })).toEqual([]);
});
