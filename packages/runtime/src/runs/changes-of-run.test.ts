import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratch } from "../../../../test/support/scratch.ts";

test("the net change of a run is a diff of each file, with what others added since", async () => {
  const { runtime, make, path } = await scratch();
  await make({ "root/a.txt": "one\ntwo\n", "root/gone.txt": "bye\n" });
  expect(await runtime.changes()).toEqual([]);
  const first = await runtime.call({ name: "edit", args: { path: "a.txt", find: "two", replace: "2" } });
  const second = await runtime.call({ name: "edit", args: { path: "a.txt", find: "one", replace: "1" } });
  await runtime.call({ name: "write", args: { path: "new.txt", content: "hello\n" } });
  await runtime.call({ name: "delete_file", args: { path: "gone.txt" } });
  const seqBefore = (await Array.fromAsync(runtime.events())).length;
  writeFileSync(join(path, "root/new.txt"), "hello\nby hand\n");

  const all = Object.fromEntries((await runtime.changes()).map(({ path: at, diff }) => [at, diff]));
  expect(all["a.txt"]).toContain("-one\n-two\n+1\n+2\n");
  expect(all["new.txt"]).toContain("--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+hello\n+by hand\n");
  expect(Object.keys(all)).not.toContain("gone.txt"); // deleting needs approval, and the host has no prompt
  const ids = [first, second].map(({ artifacts }) => artifacts.undo_id ?? "");
  const [only] = await runtime.changes({ undo_ids: ids.slice(1) });
  expect(only?.diff).toContain("-one\n+1\n");
  expect(await Array.fromAsync(runtime.events())).toHaveLength(seqBefore);
});

test("undone changes are not listed; a diff contains no secret and is bounded", async () => {
  const { runtime } = await scratch();
  const token = `ghp_${"a1B2".repeat(9)}`;
  const written = await runtime.call({ name: "write", args: { path: "a.txt", content: `${token}\n` } });
  await runtime.call({ name: "write", args: { path: "big.txt", content: "line\n".repeat(20_000) } });
  const shown = await runtime.changes();
  expect(JSON.stringify(shown)).not.toContain(token);
  expect(shown.find(({ path }) => path === "big.txt")).toMatchObject({ truncated: true });
  expect(JSON.stringify(shown).length).toBeLessThan(70_000);
  await runtime.undo(written.artifacts.undo_id ?? "");
  expect((await runtime.changes()).map(({ path }) => path)).toEqual(["big.txt"]);
  expect(await runtime.changes({ run_id: "run_00000000000000000000000000" })).toEqual([]);
});
