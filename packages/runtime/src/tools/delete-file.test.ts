import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratch } from "../../../../test/support/scratch.ts";

test("delete_file removes one file, and undo brings it back", async () => {
  const { path, make, call, read } = await scratch({ profile: "autonomous" });
  await make({ "root/a.txt": "content" });

  const { ok, payload, artifacts } = await call("delete_file", { path: "a.txt" });

  expect(ok).toBe(true);
  expect(payload?.data).toEqual({ removed: "a.txt", bytes: 7 });
  expect(existsSync(join(path, "root/a.txt"))).toBe(false);
  expect((await call("undo", { undo_id: artifacts.undo_id })).ok).toBe(true);
  expect(await read("root/a.txt")).toBe("content");
});

test("delete_file is asked for under guarded, and not offered under readonly", async () => {
  const guarded = await scratch();
  await guarded.make({ "root/a.txt": "content" });
  expect((await guarded.call("delete_file", { path: "a.txt" })).error?.code).toBe("ApprovalRequired");
  expect(await guarded.read("root/a.txt")).toBe("content");

  const readonly = await scratch({ profile: "readonly" });
  await readonly.make({ "root/a.txt": "content" });
  expect((await readonly.call("delete_file", { path: "a.txt" })).error?.code).toBe("ToolNotAllowed");
  expect(readonly.runtime.tools().map(({ name }) => name)).not.toContain("delete_file");
});

test("delete_file takes no folder and nothing that is not there", async () => {
  const { path, call } = await scratch({ profile: "autonomous" });
  mkdirSync(join(path, "root/dir"));
  expect((await call("delete_file", { path: "dir" })).error).toMatchObject({
    code: "InvalidArguments",
    message: expect.stringMatching(/folder/) as unknown,
  });
  expect((await call("delete_file", { path: "missing" })).error?.code).toBe("NotFound");
});
