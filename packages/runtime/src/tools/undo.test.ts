import { chmodSync, existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createRuntime, defineTool } from "@autonous/runtime";
import { expect, test } from "vitest";
import { z } from "zod";
import { scratch } from "../../../../test/support/scratch.ts";

test("a written file is put back, a new one is removed with the folders made for it", async () => {
  const { path, make, call, read } = await scratch();
  await make({ "root/a.sh": "old\n" });
  chmodSync(join(path, "root/a.sh"), 0o750);
  const changed = await call("write", { path: "a.sh", content: "new\n" });
  const created = await call("write", { path: "deep/er/b.txt", content: "b\n" });

  const first = await call("undo", { undo_id: created.artifacts.undo_id });
  const second = await call("undo", { undo_id: changed.artifacts.undo_id });

  expect(first.payload?.data).toMatchObject({ removed: ["deep/er/b.txt"], restored: [], unchanged: [] });
  expect(second.payload?.data).toMatchObject({ restored: ["a.sh"], removed: [], undone: [changed.artifacts.undo_id] });
  expect(await read("root/a.sh")).toBe("old\n");
  expect(statSync(join(path, "root/a.sh")).mode & 0o777).toBe(0o750);
  expect(readdirSync(join(path, "root"))).toEqual(["a.sh"]);
});

test("undo is undoable, recorded, and in the stream of events", async () => {
  const { make, call, read, events } = await scratch();
  await make({ "root/a.txt": "old" });
  const written = await call("write", { path: "a.txt", content: "new" });
  const undone = await call("undo", { undo_id: written.artifacts.undo_id });
  expect(await read("root/a.txt")).toBe("old");

  const redone = await call("undo", { undo_id: undone.artifacts.undo_id });

  expect(redone.ok).toBe(true);
  expect(await read("root/a.txt")).toBe("new");
  const applied = (await events()).filter(({ type }) => type === "undo.applied");
  expect(applied.map(({ payload }) => payload)).toMatchObject([
    { undo_ids: [written.artifacts.undo_id], files_changed: ["a.txt"] },
    { undo_ids: [undone.artifacts.undo_id], files_changed: ["a.txt"] },
  ]);
});

test("a file that changed since is left alone, unless forced", async () => {
  const { path, make, call, read } = await scratch();
  await make({ "root/a.txt": "old" });
  const { artifacts } = await call("write", { path: "a.txt", content: "new" });
  writeFileSync(join(path, "root/a.txt"), "another process's");

  const refused = await call("undo", { undo_id: artifacts.undo_id });
  expect(refused.error).toMatchObject({ code: "Stale", details: { paths: ["a.txt"] } });
  expect(await read("root/a.txt")).toBe("another process's");

  expect((await call("undo", { undo_id: artifacts.undo_id, force: true })).ok).toBe(true);
  expect(await read("root/a.txt")).toBe("old");
});

test("one stale file keeps all files of the change as they are", async () => {
  const { path, make, call, read } = await scratch();
  await make({ "root/a.txt": "a", "root/b.txt": "b" });
  const patch =
    "*** Begin Patch\n*** Update File: a.txt\n-a\n+A\n*** Update File: b.txt\n-b\n+B\n*** Add File: c.txt\n+c\n*** End Patch";
  const { artifacts } = await call("apply_patch", { patch_text: patch });
  writeFileSync(join(path, "root/b.txt"), "other");

  const { error } = await call("undo", { undo_id: artifacts.undo_id });

  expect(error?.code).toBe("Stale");
  expect([await read("root/a.txt"), await read("root/b.txt"), await read("root/c.txt")]).toEqual([
    "A\n",
    "other",
    "c\n",
  ]);
});

test("a whole run is undone, newest change first, also by a runtime that was started later", async () => {
  const { path, make, runtime, call, read } = await scratch();
  await make({ "root/a.txt": "first" });
  for (const content of ["second", "third", "fourth"]) await call("write", { path: "a.txt", content });
  await call("write", { path: "b.txt", content: "b" });
  await runtime.close();

  const later = await createRuntime({ roots: [join(path, "root")] });
  const result = await later.undo(runtime.run_id);
  await later.close();

  expect(result.error).toBeNull();
  expect(result.payload?.data).toMatchObject({ restored: ["a.txt"], removed: ["b.txt"] });
  expect(result.payload?.data).toHaveProperty("undone.length", 4);
  expect(await read("root/a.txt")).toBe("first");
  expect(existsSync(join(path, "root/b.txt"))).toBe(false);
});

test("a run is stale if another process changed the file between its changes", async () => {
  const { path, make, runtime, call, read } = await scratch();
  await make({ "root/a.txt": "first" });
  await call("write", { path: "a.txt", content: "second" });
  writeFileSync(join(path, "root/a.txt"), "another process's");
  await call("write", { path: "a.txt", content: "third" });

  expect((await runtime.undo(runtime.run_id)).error?.code).toBe("Stale");
  expect(await read("root/a.txt")).toBe("third");
});

test("undo twice changes nothing the second time", async () => {
  const { make, call, read } = await scratch();
  await make({ "root/a.txt": "old" });
  const { artifacts } = await call("write", { path: "a.txt", content: "new" });
  await call("undo", { undo_id: artifacts.undo_id });

  const again = await call("undo", { undo_id: artifacts.undo_id });

  expect(again.payload?.data).toMatchObject({ restored: [], removed: [], unchanged: ["a.txt"] });
  expect(await read("root/a.txt")).toBe("old");
});

// oxfmt-ignore
const REFUSED = [
  { title: "an id that was never issued", args: { undo_id: "undo_00000000000000000000000000" }, code: "NotFound" },
  { title: "a run that changed nothing", args: { run_id: "run_none" },                         code: "NotFound" },
  { title: "a path instead of an id",    args: { undo_id: "../../etc/passwd" },                code: "NotFound" },
  { title: "both an id and a run",       args: { undo_id: "undo_1", run_id: "run_1" },         code: "InvalidArguments" },
  { title: "neither",                    args: {},                                             code: "InvalidArguments" },
];

for (const { title, args, code } of REFUSED) {
  test(`undo refuses ${title}`, async () => {
    const { call } = await scratch();
    expect((await call("undo", args)).error?.code).toBe(code);
  });
}

test("what undo would touch is judged like any change: a rule that closes the path closes its undo", async () => {
  const { path, make, runtime, call, read } = await scratch();
  await make({ "root/kept/a.txt": "old" });
  const { artifacts } = await call("write", { path: "kept/a.txt", content: "new" });
  await runtime.close();
  const config = { rules: [{ effect: "deny", path: "kept/**" }] } as const;
  const strict = await createRuntime({ roots: [join(path, "root")], config: { rules: [...config.rules] } });

  const { error } = await strict.undo(artifacts.undo_id ?? "");
  await strict.close();

  expect(error?.code).toBe("ToolNotAllowed");
  expect(await read("root/kept/a.txt")).toBe("new");
});

test("a tool whose changes are not files reverts them itself, after a person approved", async () => {
  const { runtime } = await scratch({ onApproval: () => ({ answer: "grant" }) });
  const lights = new Map([["kitchen", "off"]]);
  runtime.register(
    defineTool({
      name: "switch_light",
      version: "1.0.0",
      description: "Switch a light.",
      args: z.strictObject({ room: z.string(), to: z.string() }),
      returns: z.strictObject({}),
      required_permissions: [],
      side_effects: ["message"],
      execute({ room, to }) {
        const was = lights.get(room);
        lights.set(room, to);
        return Promise.resolve({ data: {}, undo: { room, was } });
      },
      revert(undo) {
        const { room, was } = undo as { room: string; was: string };
        lights.set(room, was);
        return Promise.resolve();
      },
    }),
  );
  const { artifacts } = await runtime.call({ name: "switch_light", args: { room: "kitchen", to: "on" } });
  expect(lights.get("kitchen")).toBe("on");
  expect((await runtime.explain({ name: "undo", args: { undo_id: artifacts.undo_id } })).effect).toBe(
    "REQUIRE_CONFIRMATION",
  );

  const { ok } = await runtime.undo(artifacts.undo_id ?? "");

  expect(ok).toBe(true);
  expect(lights.get("kitchen")).toBe("off");
});

test("an undo that cannot restore every path reports how many it restored", async () => {
  const { runtime, make, call, read } = await scratch({
    config: { rules: [{ effect: "allow", tool: "apply_patch" }] },
  });
  const old = "old\n".repeat(100_000);
  await make({ "root/a.txt": old, "root/b.txt": "old" });
  const patch = ["*** Delete File: a.txt", "*** Update File: b.txt", "@@", "-old", "+new"];
  const patch_text = ["*** Begin Patch", ...patch, "*** End Patch"].join("\n");
  const changed = await call("apply_patch", { patch_text });
  expect(changed.error).toBe(null);
  for (const entry of readdirSync(runtime.state_dir, { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    if (entry.isFile() && statSync(file).size === old.length) writeFileSync(file, "x".repeat(old.length));
  }

  const { error } = await call("undo", { undo_id: changed.artifacts.undo_id });

  expect(error?.message).toMatch(/^Restored 1 of 2 paths; these could not be restored: "a.txt" \(its old content is/);
  expect(await read("root/b.txt")).toBe("old");
});
