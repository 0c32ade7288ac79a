import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ToolCallResult } from "@autonous/runtime";
import type { MemoryEntry } from "@autonous/runtime/internal";
import { expect, test } from "vitest";
import { autonous } from "./support/cli.ts";
import { scratchFolder, stateOf } from "./support/scratch.ts";

const CREATE = JSON.stringify({
  action: "create",
  title: "Deploys",
  knowledge_to_store: "Never on a Friday\nAsk Ada",
});

test("memory of one run is found by another, and the user can list, show and delete it", async () => {
  const { path: cwd } = await scratchFolder();
  const created = await autonous(["call", "update_memory", CREATE], { cwd });
  expect(created.stdout).toMatch(/^kept mem_\w+ Deploys\n$/);

  const found = await autonous(["run", '/update_memory {"action":"search","query":"fri"}'], { cwd });
  expect(found.stdout).toContain("Never on a Friday");
  const [entry] = JSON.parse((await autonous(["memory", "list", "--json"], { cwd })).stdout) as MemoryEntry[];
  const listed = await autonous(["memory", "list"], { cwd });
  expect(listed.stdout).toMatch(/^ENTRY .*\nmem_\w+ .* Deploys {2}Never on a Friday Ask Ada\n$/);
  const shown = await autonous(["memory", "show", entry?.id ?? ""], { cwd });
  expect(shown.stdout).toMatch(/Deploys[^]*\n\nNever on a Friday\nAsk Ada\n$/);
  expect((await autonous(["memory", "search", '"fri', "OR"], { cwd })).stderr).toBe(
    "No entry contains all of these words\n",
  );

  const deleted = await autonous(["memory", "delete", entry?.id ?? ""], { cwd });
  expect(deleted).toMatchObject({ code: 0, stderr: 'Deleted "Deploys": Never on a Friday\nAsk Ada\n' });
  expect((await autonous(["memory", "list"], { cwd })).stderr).toBe("No memory entries\n");
});

test("an unknown id is reported", async () => {
  const { path: cwd } = await scratchFolder();
  for (const action of ["show", "delete"]) {
    const ended = await autonous(["memory", action, "mem_none"], { cwd });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain('No memory entry "mem_none"; "autonous memory list" shows all entries');
  }
  expect(existsSync(stateOf(cwd))).toBe(false); // looking makes nothing
});

test("a call that does not use the memory opens no store", async () => {
  const { path: cwd } = await scratchFolder();
  await autonous(["call", "ls"], { cwd });
  expect(existsSync(join(stateOf(cwd), "autonous.db"))).toBe(false);
});

test("a file that is attached lies where the terminal says", async () => {
  const { path: cwd, make } = await scratchFolder();
  await make({ "a.txt": "content\n" });
  const { stderr } = await autonous(["call", "attach", '{"path":"a.txt"}'], { cwd });
  const place = /^attached a\.txt: (.*)$/m.exec(stderr)?.[1] ?? "";
  expect(readFileSync(place, "utf8")).toBe("content\n");
  const ran = await autonous(["run", "/attach a.txt"], { cwd });
  expect(ran.stderr).toMatch(/^ {4}attached a\.txt: .*-a\.txt$/m);
});

test("a memory that cannot be opened is reported, and not as an internal error", async () => {
  const { path: cwd } = await scratchFolder();
  mkdirSync(stateOf(cwd), { recursive: true });
  writeFileSync(
    join(stateOf(cwd), "autonous.db"),
    "this is not a database, and long enough to be recognized as such".repeat(20),
  );
  const { stdout } = await autonous(["call", "update_memory", '{"action":"list"}', "--json"], { cwd });
  expect((JSON.parse(stdout) as ToolCallResult).error).toMatchObject({
    code: "IOError",
    message: expect.stringMatching(/^Cannot open the database: .* is damaged or not a database/) as string,
  });
});
