import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../test/support/scratch.ts";
import { BUILT_IN } from "../tools/all.ts";
import { surveyWorkspace } from "./survey-workspace.ts";
import type { WorkspaceSurvey } from "./survey-workspace.ts";
import type { PolicyRule } from "../protocol/configuration.ts";

async function survey(
  files: Readonly<Record<string, string>>,
  { rules = [], prepare }: { rules?: PolicyRule[]; prepare?: (root: string) => void } = {},
): Promise<WorkspaceSurvey> {
  const { path, make } = await scratchFolder();
  const root = join(path, "root");
  mkdirSync(root);
  await make(Object.fromEntries(Object.entries(files).map(([name, text]) => [`root/${name}`, text])));
  prepare?.(root);
  const configuration = { rules, quotas: [] };
  const settings = { profile: "guarded", configuration } as const;
  return surveyWorkspace({ roots: [root], cwd: root, state_dir: join(path, "state"), settings });
}

test("the top of a workspace is told, folders with a slash, with the first lines of its README", async () => {
  const readme =
    "[![badge](x)](y)\n<p align=center>\n# Thing\n\n===\nDoes a thing.\n\nSecond\nThird\nFourth\nFifth\nSixth\n";
  const found = await survey({
    "README.md": readme,
    "src/a.ts": "",
    "package.json": "{}",
    ".env": "A=b",
    ".git/x": "",
  });
  expect(found).toMatchObject({ entries: ["README.md", "package.json", "src/"], more: 0 });
  expect(found.readme).toEqual({ name: "README.md", text: "# Thing\nDoes a thing.\nSecond\nThird\nFourth\nFifth" });
});

test("files that need approval to read are not listed", async () => {
  const files = { "README.md": "secret plans", id_rsa: "KEY", "private/a": "", "open/a": "" };
  const rules: PolicyRule[] = [
    { effect: "deny", path: "README.md" },
    { effect: "confirm", path: "private/**" },
    { effect: "confirm", path: "private" },
  ];
  const found = await survey(files, { rules });
  expect(found.entries).toEqual(["open/"]);
  expect(found.readme).toBeUndefined();
  expect((await survey(files, { rules: [{ effect: "deny", tool: "ls" }] })).entries).toEqual([]);
});

test("a README that is a link, a folder or endless is read safely, and everything is bounded", async () => {
  const linked = await survey(
    { "x.txt": "x" },
    { prepare: (root) => symlinkSync("/etc/passwd", join(root, "README.md")) },
  );
  expect([linked.entries, linked.readme]).toEqual([["README.md", "x.txt"], undefined]);
  expect((await survey({ "README/a": "" })).readme).toBeUndefined();
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`file-${i}-${"x".repeat(100)}`, ""]));
  const large = await survey({ ...many, "README.md": `${"word ".repeat(5000)}\n` });
  expect([large.entries.length, large.more]).toEqual([40, 261]);
  expect(Buffer.byteLength(JSON.stringify(large))).toBeLessThan(6000);
  expect(large.readme?.text.length).toBeLessThanOrEqual(400);
});

test("git is told where the folder is the top of a repository", async () => {
  const prepare = (root: string): void => {
    mkdirSync(join(root, ".git"), { recursive: true });
    writeFileSync(join(root, ".git/HEAD"), "ref: refs/heads/trunk\n");
  };
  expect((await survey({}, { prepare })).git).toEqual({ branch: "trunk" });
  expect((await survey({})).git).toBeUndefined();
});

test("a look is judged as the tools that look are", () => {
  for (const name of ["ls", "read"]) {
    expect(BUILT_IN.find((tool) => tool.name === name)).toMatchObject({
      permission_class: "file",
      required_permissions: ["fs.read"],
      side_effects: ["none"],
      requires_checkpoint: false,
    });
  }
});
