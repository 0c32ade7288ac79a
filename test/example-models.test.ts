import { readFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { COMMANDS } from "../packages/autonous/src/cli/all.ts";
import { SETTINGS } from "../packages/autonous/src/config/settings.ts";
import { EXAMPLE_MODELS } from "../packages/autonous/src/model/example-models.ts";
import { listPriceOf } from "../packages/autonous/src/model/prices/list-prices.ts";

const NAMES: ReadonlySet<string> = new Set(Object.values(EXAMPLE_MODELS));
/** Names of models of the providers, with a version: `claude-x` and folders such as `.claude-plugin` are none. */
const MODEL =
  /\b(?:claude-(?:[a-z]+-)?\d[\w.-]*|claude-\d[\w.-]*|gpt-\d[\w.-]*|chatgpt-[\w.-]+|o[1-9](?:-(?:mini|pro|preview))\b|gemini-\d[\w.-]*)/g;
/** The table of prices lists every model that it knows. */
const LISTS: ReadonlySet<string> = new Set(["docs/prices.md"]);

function otherModels(text: string): readonly string[] {
  return [...text.matchAll(MODEL)].map(([name]) => name.replace(/[.-]+$/, "")).filter((name) => !NAMES.has(name));
}

test("documents and examples name the example models and no others", () => {
  const root = new URL("..", import.meta.url);
  const files = execFileSync("git", ["ls-files", "--", "*.md", "examples", "deploy"], { cwd: root, encoding: "utf8" });
  const read = files.split("\n").filter((path) => path !== "" && !LISTS.has(path));
  const found = read.flatMap((path) => {
    return otherModels(readFileSync(new URL(path, root), "utf8")).map((name) => `${path}: ${name}`);
  });
  expect(read).toEqual(
    expect.arrayContaining(["README.md", "README.zh-CN.md", "docs/embedding.md", "examples/openai.ts"]),
  );
  expect(found).toEqual([]);
  for (const path of ["README.md", "README.zh-CN.md"]) {
    expect(readFileSync(new URL(path, root), "utf8")).toContain(`anthropic:${EXAMPLE_MODELS.anthropic}`);
  }
});

test("help texts and settings name no other model", () => {
  expect(otherModels(JSON.stringify([COMMANDS, SETTINGS]))).toEqual([]);
});

test("an outdated model name is found everywhere", () => {
  const before = [
    "claude-sonnet-4-5",
    "claude-3-5-sonnet-latest",
    "gpt-5",
    "gpt-4.1-mini",
    "gemini-2.5-flash",
    "o3-mini",
  ];
  expect(otherModels(before.map((name) => `model: "${name}".`).join("\n"))).toEqual(before);
  expect(otherModels("anthropic:claude-x .claude-plugin claude_desktop_config.json")).toEqual([]);
});

test("the example models are current: the table of prices has each", () => {
  for (const [kind, name] of Object.entries(EXAMPLE_MODELS)) {
    expect([name, listPriceOf(`${kind}:${name}`, { input_tokens: 1, now: Date.parse("2026-10-15") })]).not.toContain(
      undefined,
    );
  }
});
