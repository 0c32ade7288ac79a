import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ToolCallResult } from "../protocol/result.ts";
import type { ProfileName } from "../protocol/configuration.ts";
import { createRuntime } from "../runtime.ts";
import type { Runtime } from "../options/runtime-options.ts";
import { toolsFoundBy } from "./tool-search.ts";

async function start(profile: ProfileName = "guarded"): Promise<Runtime> {
  const folder = mkdtempSync(join(tmpdir(), "autonous-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const runtime = await createRuntime({ roots: [folder], profile });
  onTestFinished(() => runtime.close());
  return runtime;
}

function dataOf({ payload }: ToolCallResult): { readonly tools: readonly { readonly name: string }[] } {
  return (payload?.data ?? { tools: [] }) as ReturnType<typeof dataOf>;
}

// oxfmt-ignore
const FOUND = [
  { query: "stop a background process",   first: "background_stop" },
  { query: "background_list",             first: "background_list" },
  { query: "please load delete_file",     first: "delete_file" },
  { query: "back out a change",           first: "undo" },
  { query: "remove a file",               first: "delete_file" },
  { query: "fetch a web page by its URL", first: "network_request" },
  { query: "run a script of a skill",     first: "run_script" },
] as const;

for (const { query, first } of FOUND) {
  test(`"${query}" finds ${first} with its schema`, async () => {
    const runtime = await start();
    const result = await runtime.call({ name: "tool_search", args: { query } });
    const { tools } = dataOf(result);
    expect(tools[0]).toMatchObject({ name: first, args_schema: { type: "object" } });
    expect(result.payload?.stdout).toMatch(new RegExp(`^${first}: .+\\n{"type":"object"`));
    const names = tools.map(({ name }) => name);
    expect(toolsFoundBy({ name: "tool_search", arguments: { query } }, runtime.tools())).toEqual(names);
  });
}

test("a search that finds nothing names the tools that there are", async () => {
  const runtime = await start();
  const { ok, payload } = await runtime.call({ name: "tool_search", args: { query: "zzz 日本" } });
  expect(ok).toBe(true);
  expect(payload?.stderr).toMatch(/No tool matches\. Available: ls, find/);
});

test("at most as many are given as were asked for, and never the search itself", async () => {
  const runtime = await start();
  const result = await runtime.call({
    name: "tool_search",
    args: { query: "find search file folder tool", limit: 2 },
  });
  const { tools } = dataOf(result);
  expect(tools.length).toBe(2);
  expect(tools.map(({ name }) => name)).not.toContain("tool_search");
});

test("what the profile hides is not found", async () => {
  const runtime = await start("readonly");
  const result = await runtime.call({ name: "tool_search", args: { query: "delete_file bash write" } });
  const { tools } = dataOf(result);
  expect(tools.map(({ name }) => name)).not.toContain("delete_file");
  expect(tools.map(({ name }) => name)).not.toContain("bash");
});

test("other calls, and searches that were refused for their arguments, find nothing", async () => {
  const runtime = await start();
  expect(toolsFoundBy({ name: "ls", arguments: { query: "undo" } }, runtime.tools())).toEqual([]);
  expect(toolsFoundBy({ name: "tool_search", arguments: { text: "undo" } }, runtime.tools())).toEqual([]);
});
