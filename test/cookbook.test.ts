/** Each recipe of docs/cookbook.md: its configuration gives the decisions beside it, and the defaults do not. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { workspace } from "./support/workspace.ts";

const page = readFileSync(join(import.meta.dirname, "../docs/cookbook.md"), "utf8");
const hasSandbox = spawnSync("bwrap", ["--version"]).status === 0;
const needs = hasSandbox ? "" : " (skipped: needs bwrap, apt-get install bubblewrap)";

interface Recipe {
  readonly title: string;
  readonly configuration: string;
  readonly cases: string;
}

const RECIPES: readonly Recipe[] = page.split(/^## (?=\d+\. )/m).flatMap((section, i) => {
  if (i === 0) return [];
  const [title = ""] = section.split("\n");
  const block = (language: string): string =>
    new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(section)?.[1] ?? "";
  return [{ title, configuration: block("json"), cases: block("jsonl") }];
});

const FILES = {
  "work/src/app.ts": "a",
  "work/README.md": "x",
  "work/build/app.js": "x",
  "work/customers/list.csv": "x",
  "work/db/migrations/1.sql": "x",
};

test("there are eleven recipes, and every configuration and every case of the page belongs to one", () => {
  expect(RECIPES).toHaveLength(11);
  for (const language of ["json", "jsonl"])
    expect([...page.matchAll(new RegExp(`^\`\`\`${language}$`, "gm"))]).toHaveLength(RECIPES.length);
});

describe.skipIf(!hasSandbox)(`recipes${needs}`, () => {
  test.each(RECIPES)("$title", async ({ configuration, cases }) => {
    const { run } = await workspace({
      ...FILES,
      "work/config.json": configuration,
      "work/none.json": "{}",
      "work/cases.jsonl": cases,
    });
    const count = cases.trim().split("\n").length;

    const [configured, unconfigured] = await Promise.all([
      run("policy", "test", "cases.jsonl", "--config", "config.json"),
      run("policy", "test", "cases.jsonl", "--config", "none.json"),
    ]);

    expect(configured).toMatchObject({ code: 0, stdout: `${count} passed, 0 failed\n` });
    expect(unconfigured.code).toBe(1);
  });
});
