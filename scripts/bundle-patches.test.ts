import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "rolldown";
import { expect, test } from "vitest";
import { scratchFolder } from "../test/support/scratch.ts";
import { applyPatch, PATCHES } from "./bundle-patches.ts";

const root = join(import.meta.dirname, "..");
const cases = PATCHES.flatMap((patch) => patch.files.map((file) => ({ patch, file, name: patch.name })));

/** Bundles a program that needs all files of a patch. Their content is that of the installed packages, after `change`. */
async function bundle(
  patch: (typeof PATCHES)[number],
  change: (code: string, file: string) => string,
  files: readonly string[] = patch.files,
): Promise<string> {
  const { path, make } = await scratchFolder();
  await make({
    ...Object.fromEntries(
      files.map((file) => [
        `node_modules/${file}`,
        change(readFileSync(join(root, "node_modules", file), "utf8"), file),
      ]),
    ),
    "main.js": files.map((file) => `import "./node_modules/${file}";`).join("\n"),
  });
  const main = join(path, "main.js");
  const { output } = await build({
    input: main,
    platform: "node",
    plugins: [applyPatch(patch)],
    external: (id) => id !== main && !id.includes("/node_modules/"),
    logLevel: "silent",
    treeshake: false,
    write: false,
  });
  return output[0].code;
}

test.each(cases)("$name changes $file as it is installed", async ({ patch, file }) => {
  const code = readFileSync(join(root, "node_modules", file), "utf8");
  expect(await bundle(patch, (text) => text)).not.toBe("");
  expect(applyPatch(patch).transform(code, `/x/node_modules/${file}`)).not.toBe(code);
});

test.each(cases)("the build fails when $file no longer has the text of $name", async ({ patch, file }) => {
  const planted = bundle(patch, (code, each) => (each === file ? code.replace(patch.text, "renamed(") : code));
  await expect(planted).rejects.toThrow(
    `Cannot patch "${file}": "${patch.text}" occurs ${patch.times - 1} times instead of ${patch.times}; see whether the patch "${patch.name}" in scripts/bundle-patches.ts is still needed`,
  );
});

test.each(cases)("the build fails when $file is no longer part of it", async ({ patch, file }) => {
  const others = patch.files.filter((each) => each !== file);
  await expect(bundle(patch, (code) => code, others)).rejects.toThrow(`Cannot patch "${file}": not part of the bundle`);
});
