import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../test/support/scratch.ts";
import { bindModule } from "./module-files.ts";
import type { BoundModule } from "./module-files.ts";

function bound(path: string): BoundModule {
  const module = bindModule(path);
  if ("problem" in module) throw new Error(module.problem);
  return module;
}

const MAIN = [
  'import { a } from "./a.ts";',
  "import type { B } from './lib/b.mts';",
  'export * from "./lib/c.js";',
  'import "./effect.mjs";',
  'const d = await import("./d.ts");',
  'import data from "./data.json" with { type: "json" };',
  'import { z } from "zod";',
  'import missing from "./missing.ts";',
].join("\n");

const FILES = {
  "main.ts": MAIN,
  "a.ts": 'import "./lib/b.mts"; import "./main.ts";',
  "lib/b.mts": 'export type { E } from "../e.ts";',
  "lib/c.js": "",
  "effect.mjs": "",
  "d.ts": "",
  "e.ts": "",
  "data.json": "{}",
  "other.ts": "",
};

test("a module is bound with every file that it imports by a relative path, and those that they import", async () => {
  const { path, make } = await scratchFolder();
  await make(FILES);
  const { thing, sources } = bound(join(path, "main.ts"));
  const all = ["a.ts", "d.ts", "data.json", "e.ts", "effect.mjs", "lib/b.mts", "lib/c.js", "main.ts"];
  expect(thing.files.map((file) => file.path)).toEqual(all);
  expect([...sources.keys()].toSorted()).toEqual(all.map((name) => join(path, name)));
  expect(thing).toMatchObject({ kind: "module", path: join(path, "main.ts") });

  for (const name of all) {
    await make({ [name]: `${name === "main.ts" ? MAIN : (FILES[name as keyof typeof FILES] ?? "")}\n` });
    expect(bound(join(path, "main.ts")).thing.digest).not.toBe(thing.digest);
    await make({ [name]: FILES[name as keyof typeof FILES] });
  }
  await make({ "other.ts": "changed" });
  expect(bound(join(path, "main.ts")).thing.digest).toBe(thing.digest);
  await make({ "missing.ts": "" });
  expect(bound(join(path, "main.ts")).thing.digest).not.toBe(thing.digest);
});

test("a symlink is bound to its target", async () => {
  const { path, make } = await scratchFolder();
  await make({ "real/main.ts": "", "link.ts": "-> real/main.ts" });
  expect(bound(join(path, "link.ts")).thing.path).toBe(join(path, "real/main.ts"));
});

// oxfmt-ignore
const UNUSABLE = [
  { title: "that is missing",          name: "none.ts",   says: "the file does not exist" },
  { title: "that is a folder",         name: "folder.ts", says: "it is not a regular file" },
  { title: "that is a pipe",           name: "pipe.ts",   says: "it is not a regular file" },
  { title: "that is too long",         name: "long.ts",   says: /^it has 1048577 bytes/ },
  { title: "of another kind",          name: "tool.py",   says: "its name has to end in .ts, .mts, .js, .mjs" },
  { title: "that imports a long file", name: "main.ts",   says: /^".*long\.ts", which it imports: it has/ },
  { title: "that imports too many",    name: "many.ts",   says: "it imports more than 200 files" },
] as const;

for (const { title, name, says } of UNUSABLE) {
  test(`a module ${title} cannot be bound, and the reason is reported`, async () => {
    const { path, make } = await scratchFolder();
    await make({
      "folder.ts/": "",
      "long.ts": "x".repeat(1_048_577),
      "tool.py": "",
      "main.ts": 'import "./long.ts";',
      "many.ts": Array.from({ length: 201 }, (_, i) => `import "./n${i}.ts";`).join("\n"),
      ...Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`n${i}.ts`, ""])),
    });
    execFileSync("mkfifo", [join(path, "pipe.ts")]);
    const module = bindModule(join(path, name));
    const { problem } = module as { readonly problem: string };
    if (typeof says === "string") expect(problem).toBe(says);
    else expect(problem).toMatch(says);
  });
}
