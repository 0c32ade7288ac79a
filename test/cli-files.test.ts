import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ToolCallResult } from "@autonous/runtime";
import { expect, test } from "vitest";
import { autonous, shell } from "./support/cli.ts";
import { scratchFolder } from "./support/scratch.ts";

async function call(cwd: string, tool: string, args: unknown): Promise<ToolCallResult> {
  const { stdout } = await autonous(["call", tool, JSON.stringify(args), "--json"], { cwd });
  return JSON.parse(stdout) as ToolCallResult;
}

test("an agent's day on a code base, one process a call: find, grep, read, edit, undo", async () => {
  const { path: cwd, make, read } = await scratchFolder();
  await make({
    "src/main.ts": "export const port = 80;\n// TODO: read it\n",
    "src/deep/util.ts": "export {};\n",
    ".gitignore": "dist/\n",
    "dist/main.js": "// TODO built\n",
  });

  const found = await call(cwd, "find", { path: ".", name_pattern: "*.ts" });
  const matches = await call(cwd, "grep", { pattern: "TODO" });
  const file = await call(cwd, "read", { path: "src/main.ts" });
  const { sha256 } = (file.payload?.data ?? {}) as { sha256?: string };
  const edited = await call(cwd, "edit", {
    path: "src/main.ts",
    find: "port = 80",
    replace: "port = 8080",
    if_sha256: sha256,
  });

  expect(found.payload?.stdout).toBe("src/deep/util.ts\nsrc/main.ts\n");
  expect(matches.payload?.stdout).toBe("src/main.ts:2:// TODO: read it\n");
  expect(file.payload?.stdout).toBe("export const port = 80;\n// TODO: read it\n");
  expect(edited.error).toBeNull();
  expect(await read("src/main.ts")).toContain("port = 8080");

  const undone = await autonous(["undo", edited.artifacts.undo_id ?? ""], { cwd });
  expect({ code: undone.code, stdout: undone.stdout }).toEqual({ code: 0, stdout: "restored src/main.ts\n" });
  expect(await read("src/main.ts")).toContain("port = 80;");
});

test("a whole run is undone by its id", async () => {
  const { path: cwd, make, read } = await scratchFolder();
  const write = (path: string, content: string): unknown => ({
    reply: { tool_calls: [{ name: "write", arguments: { path, content } }] },
  });
  await make({
    "a.txt": "old",
    "script.json": JSON.stringify([
      write("a.txt", "one"),
      write("a.txt", "two"),
      write("new/b.txt", "b"),
      { reply: { final_answer: "done" } },
    ]),
  });
  const env = { AUTONOUS_MODEL: "script:script.json" };
  const ran = await autonous(["run", "write", "--json"], { cwd, env });
  const { run_id } = JSON.parse(ran.stdout.trimEnd().split("\n").at(-1) ?? "") as { run_id: string };
  expect(await read("a.txt")).toBe("two");

  const { code, stdout } = await autonous(["undo", run_id], { cwd });

  expect(code).toBe(0);
  expect(stdout).toBe("restored a.txt\nremoved new/b.txt\n");
  expect(await read("a.txt")).toBe("old");
  expect(existsSync(join(cwd, "new"))).toBe(false);
});

test("undo reports a missing id, an unknown one, and a file that changed since", async () => {
  const { path: cwd, make, read } = await scratchFolder();
  await make({ "a.txt": "old" });
  const { artifacts } = await call(cwd, "write", { path: "a.txt", content: "new" });
  writeFileSync(join(cwd, "a.txt"), "other");
  const undo_id = artifacts.undo_id ?? "";

  expect(await autonous(["undo"], { cwd })).toMatchObject({ code: 2 });
  const unknown = await autonous(["undo", "undo_none"], { cwd });
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining("NotFound") as unknown });
  const stale = await autonous(["undo", undo_id], { cwd });
  expect(stale).toMatchObject({ code: 1, stderr: expect.stringContaining("force") as unknown });
  expect(await autonous(["undo", undo_id, "--force"], { cwd })).toMatchObject({ code: 0 });
  expect(await read("a.txt")).toBe("old");
});

test("twenty processes edit one file at once, and every edit is in it", async () => {
  const { path: cwd, make, read } = await scratchFolder();
  const lines = Array.from({ length: 20 }, (_, i) => `line ${i};`);
  await make({ "a.txt": lines.join("\n") });

  const results = await Promise.all(
    lines.map((line, i) => call(cwd, "edit", { path: "a.txt", find: line, replace: `changed ${i};` })),
  );

  expect(results.map(({ error }) => error?.message).filter((message) => message !== undefined)).toEqual([]);
  expect(await read("a.txt")).toBe(lines.map((_, i) => `changed ${i};`).join("\n"));
});

test("calls from stdin see each other's changes, and long output can be paged", async () => {
  const { path: cwd } = await scratchFolder();
  const lines = [
    { tool: "write", args: { path: "a.txt", content: "a line\n".repeat(5000) } },
    { tool: "grep", args: { pattern: "line", path: "a.txt", limit: 3 } },
    { tool: "read_file", args: { target_file: "a.txt", offset: 4999 } },
  ];
  const { stdout } = await autonous(["call", "-"], {
    cwd,
    input: lines.map((each) => JSON.stringify(each)).join("\n"),
  });
  const [written, matches, tail] = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as ToolCallResult);

  expect(written?.ok).toBe(true);
  expect(matches?.payload?.stdout).toBe("a.txt:1:a line\na.txt:2:a line\na.txt:3:a line\n");
  expect(matches?.payload?.next_page_cursor).toBeDefined();
  expect(tail?.payload?.stdout).toBe("a line\na line\n");
});

test("a file full of terminal escapes does not reach the terminal raw", async () => {
  const { path: cwd, make } = await scratchFolder();
  await make({ "evil.txt": "\u001b]0;owned\u0007\u001b[2J text\n" });
  for (const words of [
    ["call", "read", '{"path":"evil.txt"}'],
    ["call", "grep", '{"pattern":"text"}'],
    ["run", "/read evil.txt"],
  ]) {
    const { stdout, stderr } = await autonous(words, { cwd });
    expect(`${stdout}${stderr}`).toContain("text");
    expect(`${stdout}${stderr}`).not.toContain("\u001b");
  }
});

test("pipes and devices are refused at once", async () => {
  const { path: cwd } = await scratchFolder();
  execFileSync("mkfifo", [join(cwd, "pipe")]);
  const tools: readonly (readonly [string, unknown])[] = [
    ["read", { path: "pipe" }],
    ["write", { path: "pipe", content: "x" }],
    ["edit", { path: "pipe", find: "a", replace: "b" }],
    ["grep", { pattern: "x", path: "pipe" }],
  ];
  for (const [tool, args] of tools)
    expect([tool, (await call(cwd, tool, args)).error?.code]).toEqual([tool, "InvalidArguments"]);
});

test("the content of a file reaches the shell byte for byte, up to the limits", async () => {
  const { path: cwd, make } = await scratchFolder();
  await make({ "a.txt": "tab\there\r\nünï ☃\n" });
  const { stdout } = await shell(`autonous call read '{"path":"a.txt"}' --json`, { cwd });
  expect((JSON.parse(stdout) as ToolCallResult).payload?.stdout).toBe(readFileSync(join(cwd, "a.txt"), "utf8"));
});
