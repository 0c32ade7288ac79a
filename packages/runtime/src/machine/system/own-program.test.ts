import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { programPlaces } from "./own-program.ts";

const repository = join(import.meta.dirname, "../../../../..");

test("in a root that contains this program, its packages and its search program count as run later", () => {
  const places = programPlaces({ roots: [repository], home: "/nonexistent" });
  const paths = places.map(({ path }) => relative(repository, path));
  expect(paths).toContain("packages/runtime");
  expect(paths).toEqual(expect.arrayContaining(["node_modules", "packages/node_modules", "package-lock.json"]));
  expect(paths.filter((path) => path.startsWith("node_modules/@vscode/ripgrep")).length).toBeGreaterThan(0);
  expect(places.every(({ why }) => why === "this program runs it")).toBe(true);
});

test("toolchains of a home that is a root count as run later, and nothing if neither is in a root", async () => {
  const { path, make } = await scratchFolder();
  await make({ "home/.local/bin/tool": "", "home/.cargo/bin/cargo": "", "home/notes.txt": "", "work/bin/x": "" });
  const home = join(path, "home");
  expect(programPlaces({ roots: [home], home }).map((place) => relative(home, place.path))).toEqual([
    ".local/bin",
    ".cargo/bin",
  ]);
  expect(programPlaces({ roots: [join(path, "work")], home })).toEqual([]);
});

const OWN = '{ "name": "autonous", "dependencies": { "a": "1", "@b/c": "1" } }';

/** Places of a program started from a scratch folder, relative to its root. */
async function placesOf(
  files: Readonly<Record<string, string>>,
  { file, root = "root", started_as, path = [], node_path }: Start,
): Promise<readonly string[]> {
  const folder = await scratchFolder();
  await folder.make({ "root/": "", ...files });
  const at = (name: string): string => join(folder.path, name);
  const start = {
    files: [at(file)],
    node: process.execPath,
    environment: { PATH: path.map(at).join(":"), ...(node_path === undefined ? {} : { NODE_PATH: at(node_path) }) },
    ...(started_as === undefined ? {} : { started_as: at(started_as) }),
  };
  const places = programPlaces({ roots: [at(root)], home: "/nonexistent" }, start);
  return places.map((place) => relative(at(root), place.path)).sort();
}

interface Start {
  readonly file: string;
  readonly root?: string;
  readonly started_as?: string;
  readonly path?: readonly string[];
  readonly node_path?: string;
}

test("folders that packages are imported from count as run later, existing or not, and the user's own files do not", async () => {
  const files = { "root/node_modules/autonous/package.json": OWN, "root/node_modules/autonous/dist/x.js": "" };
  expect(await placesOf(files, { file: "root/node_modules/autonous/dist/x.js" })).toEqual([
    "node_modules",
    "node_modules/autonous",
    "node_modules/autonous/node_modules",
  ]);
  const elsewhere = { "tool/package.json": OWN, "tool/x.js": "" };
  expect(await placesOf(elsewhere, { file: "tool/x.js" })).toEqual([]);
  expect(await placesOf(elsewhere, { file: "tool/x.js", node_path: "root/shared" })).toEqual(["shared"]);
});

test("code named by variables for Node.js counts as run later, and package names and files elsewhere do not", async () => {
  const { path: root, make } = await scratchFolder();
  await make({ "a.cjs": "", "real/compiled/": "", compiled: "-> real/compiled" });
  const at = (name: string): string => join(root, name);
  const environment = {
    NODE_OPTIONS: `--max-old-space-size=512 -r ${at("a.cjs")} --import=file://${at("b.mjs")} --require "${at("c.cjs")}" --import tsx -r /elsewhere/d.cjs`,
    NODE_COMPILE_CACHE: at("compiled"),
    LD_PRELOAD: `libx.so:${at("y.so")}`,
  };
  const places = programPlaces(
    { roots: [root], home: "/nonexistent" },
    { files: [], node: process.execPath, environment },
  );
  expect(places.map(({ path }) => relative(root, path)).sort()).toEqual([
    "a.cjs",
    "b.mjs",
    "c.cjs",
    "compiled",
    "real/compiled",
    "y.so",
  ]);
});

test("in a root inside the program, everything belongs to the program", async () => {
  const files = { "root/lib/autonous/package.json": OWN, "root/lib/autonous/src/x.ts": "" };
  const start = { file: "root/lib/autonous/src/x.ts", root: "root/lib/autonous/src" };
  expect(await placesOf(files, start)).toEqual([".."]);
});

test("a linked dependency counts as run later, with the folders it imports from, and other links do not", async () => {
  const files = {
    "tool/package.json": OWN,
    "tool/x.js": "",
    "tool/node_modules/a/package.json": '{ "peerDependencies": { "d": "1" } }',
    "tool/node_modules/@b/c": "-> ../../../root/c",
    "tool/node_modules/d": "-> ../../root/work/d",
    "tool/node_modules/unused": "-> ../../root/unused",
    "root/c/package.json": "{}",
    "root/work/d/package.json": "not valid",
    "root/unused/package.json": "{}",
  };
  expect(await placesOf(files, { file: "tool/x.js" })).toEqual([
    "c",
    "c/node_modules",
    "node_modules",
    "work/d",
    "work/d/node_modules",
    "work/node_modules",
  ]);
});

test("every link on the start path counts as run later, and so do names that the PATH looks up in a root", async () => {
  const files = {
    "tool/package.json": OWN,
    "tool/bin/autonous.js": "",
    "root/first": "-> second",
    "root/second": "-> ../tool",
    "root/opt/bin/autonous": "-> ../../../tool/bin/autonous.js",
    "root/other/bin/autonous": "a shim",
    "root/loop": "-> loop",
  };
  const file = "tool/bin/autonous.js";
  expect(await placesOf(files, { file, started_as: "root/first/bin/autonous.js" })).toEqual(["first", "second"]);
  expect(await placesOf(files, { file, started_as: "root/loop" })).toContain("loop");
  expect(await placesOf(files, { file, started_as: "root/opt/bin/autonous" })).toEqual(["opt/bin"]);
  const path = ["root/opt/bin", "root/other/bin", "root/new", "elsewhere"];
  expect(await placesOf(files, { file, path })).toEqual([
    "new/autonous",
    "new/node",
    "opt/bin",
    "other/bin/autonous",
    "other/bin/node",
  ]);
});

test("the bin folder of a prefix counts as run later without a PATH", async () => {
  const files = {
    "root/opt/lib/node_modules/autonous/package.json": OWN,
    "root/opt/lib/node_modules/autonous/bin/autonous.js": "",
    "root/opt/bin/autonous": "-> ../lib/node_modules/autonous/bin/autonous.js",
  };
  expect(await placesOf(files, { file: "root/opt/lib/node_modules/autonous/bin/autonous.js" })).toContain("opt/bin");
});

test("a dot folder that packages are loaded from counts as run later, whatever its name, and a cache does not", async () => {
  const files = {
    "root/node_modules/autonous/package.json": OWN,
    "root/node_modules/autonous/dist/x.js": "",
    "root/node_modules/a": "-> .odd/a@1/node_modules/a",
    "root/node_modules/.odd/a@1/node_modules/a/package.json": '{ "dependencies": { "d": "1" } }',
    "root/node_modules/.odd/a@1/node_modules/d": "-> ../../../.deep/d",
    "root/node_modules/.deep/d/package.json": "{}",
    "root/node_modules/undeclared": "-> .third/undeclared",
    "root/node_modules/.third/undeclared/index.js": "",
    "root/node_modules/.cache/x": "",
  };
  const found = await placesOf(files, { file: "root/node_modules/autonous/dist/x.js" });
  expect(found.filter((path) => /\/\.[^/]*$/.test(path))).toEqual([
    "node_modules/.deep",
    "node_modules/.odd",
    "node_modules/.third",
  ]);
});

test("a link to such a folder is found among the packages of one package, and behind a link that leads elsewhere", async () => {
  const files = {
    "root/node_modules/autonous/package.json": OWN,
    "root/node_modules/autonous/dist/x.js": "",
    "root/node_modules/a/package.json": '{ "dependencies": { "d": "1" } }',
    "root/node_modules/a/node_modules/d": "-> ../../.deep/d",
    "root/node_modules/.deep/d/package.json": "{}",
    "root/node_modules/@b/c": "-> ../../work/c",
    "root/work/c/package.json": '{ "dependencies": { "e": "1" } }',
    "root/work/c/node_modules/@s/e": "-> ../../../../node_modules/.far/e",
    "root/node_modules/.far/e/package.json": "{}",
    "root/node_modules/.cache/x": "",
  };
  const found = await placesOf(files, { file: "root/node_modules/autonous/dist/x.js" });
  expect(found.filter((path) => /\/\.[^/]*$/.test(path))).toEqual(["node_modules/.deep", "node_modules/.far"]);
});
