import { mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { scratch } from "../../../../../test/support/scratch.ts";
import type { ToolContext } from "../../contract/context.ts";
import { defineTool } from "../../contract/tool.ts";
import type { Tool, Touch } from "../../contract/tool.ts";

/** A tool that declares to touch one path and then does something with its files. */
function fileTool(touch: Touch, work: (context: ToolContext) => Promise<unknown>): Tool {
  return defineTool({
    name: "work",
    version: "1.0.0",
    description: "Works on files",
    args: z.strictObject({}),
    returns: z.strictObject({}),
    required_permissions: ["fs.read"],
    side_effects: ["none"],
    risk: "low",
    permission_class: "file",
    touches: () => [touch],
    async execute(_, context) {
      return { data: {}, stdout: JSON.stringify(await work(context)) };
    },
  });
}

test("stat tells what a place is, without opening it for anything", async () => {
  const { runtime, make } = await scratch();
  await make({ "root/a.txt": "four" });
  runtime.register(fileTool({ path: "a.txt", access: "read" }, ({ files }) => files.stat("a.txt")));
  const { payload } = await runtime.call({ name: "work", args: {} });
  expect(JSON.parse(payload?.stdout ?? "")).toEqual({
    kind: "file",
    size: 4,
    modified_ms: expect.any(Number) as number,
  });
});

test("a path that the call did not declare is refused, also one inside the roots", async () => {
  const { runtime, make } = await scratch();
  await make({ "root/a/x": "x", "root/b/y": "y" });
  runtime.register(fileTool({ path: "a", access: "list" }, ({ files }) => files.list("b", { limit: 10 })));
  const { error } = await runtime.call({ name: "work", args: {} });
  expect(error).toMatchObject({
    code: "PathTraversalBlocked",
    message: expect.stringMatching(/did not declare/) as string,
  });
});

test("a declared read does not allow a listing", async () => {
  const { runtime, make } = await scratch();
  await make({ "root/a/x": "x" });
  runtime.register(fileTool({ path: "a", access: "read" }, ({ files }) => files.list("a", { limit: 10 })));
  expect((await runtime.call({ name: "work", args: {} })).error?.code).toBe("PathTraversalBlocked");
});

// oxfmt-ignore
const SWAPS = [
  { title: "itself is swapped for a link to the outside",  path: "a",   swap: (root: string) => { renameSync(join(root, "a"), join(root, "away")); symlinkSync("../outside", join(root, "a")); } },
  { title: "a folder above it is swapped for a link",      path: "p/a", swap: (root: string) => { renameSync(join(root, "p"), join(root, "away")); symlinkSync("../outside", join(root, "p")); } },
  { title: "it is swapped for a link inside the root",     path: "a",   swap: (root: string) => { rmSync(join(root, "a"), { recursive: true }); symlinkSync("other", join(root, "a")); } },
] as const;

for (const { title, path, swap } of SWAPS) {
  test(`what was judged is what is opened: where ${title}, nothing is shown`, async () => {
    const { runtime, make, path: folder } = await scratch();
    await make({
      "root/a/mine": "",
      "root/p/a/mine": "",
      "root/other/theirs": "",
      "outside/a/secret": "",
      "outside/secret": "",
    });
    const tool = fileTool({ path, access: "list" }, async ({ files }) => {
      swap(join(folder, "root"));
      return await files.list(path, { limit: 10 });
    });
    runtime.register(tool);
    const result = await runtime.call({ name: "work", args: {} });
    expect(result.ok).toBe(false);
    expect(JSON.stringify(result)).not.toMatch(/secret|theirs/);
  });
}

test("links below a folder are not followed, whatever the tool asks for", async () => {
  const { runtime, make } = await scratch();
  await make({ "root/a/link": "-> ../../outside", "outside/secret": "" });
  runtime.register(
    fileTool({ path: "a", access: "list" }, ({ files }) => files.list("a", { below: ["link"], limit: 10 })),
  );
  expect((await runtime.call({ name: "work", args: {} })).ok).toBe(false);
});

test("a key that is a way up leads nowhere", async () => {
  const { runtime, make } = await scratch();
  await make({ "root/a/x": "", "outside/secret": "" });
  for (const below of [[".."], ["..", "..", "outside"], ["../../outside"], ["."], [""]]) {
    const place = fileTool({ path: "a", access: "list" }, ({ files }) => files.list("a", { below, limit: 10 }));
    runtime.register({ ...place, name: `work${below.join("").length}${below.length}` });
  }
  const results = await runtime.callAll(
    ["work21", "work113", "work131", "work11", "work01"].map((name) => ({ name, args: {} })),
  );
  for (const result of results) {
    expect(result.error?.code).not.toBe("UnknownTool");
    expect(JSON.stringify(result)).not.toContain("secret");
  }
});

test("a folder below that a rule closes is passed over and told", async () => {
  const { runtime, make } = await scratch({
    config: { rules: [{ effect: "deny", path: "private/**", reason: "not for agents" }] },
  });
  await make({ "root/open/x": "", "root/private/diary": "", "root/z": "" });
  const { payload, error } = await runtime.call({ name: "ls", args: { recursive: true } });
  expect(error).toBeNull();
  expect(payload?.stdout).toBe("open/\nopen/x\nprivate/\nz\n");
  expect(payload?.stderr).toMatch(/not for agents/);
});

test("more entries than asked for are not held, and said", async () => {
  const { runtime, path } = await scratch();
  mkdirSync(join(path, "root/many"));
  for (let i = 0; i < 50; i++) mkdirSync(join(path, "root/many", `d${String(i).padStart(2, "0")}`));
  runtime.register(
    fileTool({ path: "many", access: "list" }, ({ files }) => files.list("many", { limit: 3, after: "d09" })),
  );
  const { payload } = await runtime.call({ name: "work", args: {} });
  expect(JSON.parse(payload?.stdout ?? "")).toMatchObject({
    more: true,
    entries: [{ name: "d10" }, { name: "d11" }, { name: "d12" }],
  });
});
