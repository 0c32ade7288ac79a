import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  accessSync,
  constants,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test, vi } from "vitest";
import { scratchFolder } from "../../../../test/support/scratch.ts";
import { verifyAudit } from "../journal/verify.ts";
import { stateNamesIn } from "../machine/state/move-state.ts";
import { adoptOldState, migrateState, migrationText, orphanedStates } from "./migrate-state.ts";
import { createRuntime } from "../runtime.ts";
import { checkState, locateState } from "./state-place.ts";

/** A workspace whose state lies in `.agent`, as earlier versions kept it, with one change on record. */
async function place(user?: string) {
  const folder = await scratchFolder();
  await folder.make({ "work/a.txt": "old", "work/.agent/config.json": "{}", "work/.agent/skills/kit/SKILL.md": "x" });
  const root = join(folder.path, "work");
  const userFolder = user ?? join(folder.path, "user");
  vi.stubEnv("XDG_STATE_HOME", userFolder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const runtime = await createRuntime({ roots: [root], state_dir: "../made", run_id: "run_1" });
  const { artifacts } = await runtime.call({ name: "write", args: { path: "a.txt", content: "new" } });
  await runtime.close();
  const old = join(root, ".agent");
  const [made, heads] = [join(folder.path, "made"), join(userFolder, "autonous/heads")];
  for (const name of ["runs", "undo", "locks"])
    if (existsSync(join(made, name))) renameSync(join(made, name), join(old, name));
  writeFileSync(join(old, "autonous.db"), "x");
  const head = join(heads, "run_1");
  writeFileSync(head, readFileSync(head, "utf8").replace(JSON.stringify(made), JSON.stringify(old)));
  return { ...folder, root, old, heads, undo_id: artifacts.undo_id ?? "", check: { workspace: root, roots: [root] } };
}

test("old state of this user is moved once, with its heads, and what belongs to the project stays", async () => {
  const { check, old, root, undo_id } = await place();
  const to = locateState(check);

  const migration = migrateState(check);

  expect(migration).toEqual({ from: old, to });
  expect(readdirSync(old).sort()).toEqual(["config.json", "skills"]);
  expect(readdirSync(to)).toEqual(expect.arrayContaining(["autonous.db", "mark", "runs", "undo", "workspace"]));
  expect(existsSync(join(to, "moving"))).toBe(false);
  expect(await verifyAudit(to)).toMatchObject({ ok: true, problems: [] });
  expect(checkState(check)).toBeUndefined();
  expect(migrateState(check)).toBeUndefined();
  const runtime = await createRuntime({ roots: [root] });
  onTestFinished(() => runtime.close());
  expect((await runtime.undo(undo_id)).error).toBeNull();
  expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("old");
});

test("the library moves it too, and says so once", async () => {
  const { root, old } = await place();
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  onTestFinished(() => warn.mockRestore());
  for (let start = 0; start < 2; start++) await (await createRuntime({ roots: [root] })).close();
  expect(warn.mock.calls.map(([text]) => String(text))).toEqual([expect.stringContaining(`was moved from "${old}"`)]);
});

test("a move that was cut short is resumed", async () => {
  const { check, old } = await place();
  const to = locateState(check);
  mkdirSync(to, { recursive: true, mode: 0o700 });
  writeFileSync(join(to, "moving"), old);
  renameSync(join(old, "runs"), join(to, "runs"));
  expect(migrateState(check)).toEqual({ from: old, to });
  expect(readdirSync(old).sort()).toEqual(["config.json", "skills"]);
  expect(await verifyAudit(to)).toMatchObject({ ok: true });
});

interface Place extends Awaited<ReturnType<typeof place>> {}
const git = (cwd: string, ...words: string[]): void => void execFileSync("git", words, { cwd, stdio: "ignore" });

// oxfmt-ignore
const LEFT = [
  { title: "without heads here",              do: ({ heads }: Place) => renameSync(heads, `${heads}.gone`),                     says: /nothing shows that this user made it/ },
  { title: "with a run that was added",       do: ({ old }: Place) => cpSync(join(old, "runs/run_1"), join(old, "runs/run_2"), { recursive: true }), says: /nothing shows/ },
  { title: "with another record of that run", do: ({ old }: Place) => writeFileSync(join(old, "runs/run_1/events.jsonl"), "{}\n"), says: /nothing shows/ },
  { title: "without a run",                   do: ({ old }: Place) => renameSync(join(old, "runs"), join(old, "../away")),      says: /nothing shows/ },
  { title: "tracked by git",                  do: ({ root }: Place) => (git(root, "init", "-q"), git(root, "add", "-A")),       says: /git tracks "\.agent/ },
  { title: "that is a link",                  do: ({ old }: Place) => (renameSync(old, `${old}2`), symlinkSync(".agent2", old)), says: /it is a link/ },
  { title: "with a link in it",               do: ({ old }: Place) => symlinkSync("/etc/passwd", join(old, "undo/x")),                 says: /"undo\/x" in it is a link/ },
  { title: "beside state in the new place",   do: ({ check }: Place) => { mkdirSync(join(locateState(check), "runs"), { recursive: true, mode: 0o700 }); }, says: /already contains state/ },
] as const;

for (const { title, do: make, says } of LEFT) {
  test(`old state ${title} is left alone, and that is told with a way on`, async () => {
    const here = await place();
    make(here);
    const before = readdirSync(here.root, { recursive: true });
    const migration = migrateState(here.check);
    expect(migration?.left).toMatch(says);
    expect(migration && migrationText(migration)).toMatch(/is not used: .*autonous state adopt/);
    expect(readdirSync(here.root, { recursive: true })).toEqual(before);
  });
}

test("a .agent that leads into itself or is closed to this user stops nothing", async () => {
  for (const target of [".agent", "x".repeat(300), "/proc/1/cwd/none"]) {
    const { path, make } = await scratchFolder();
    await make({ "work/a.txt": "a" });
    symlinkSync(target, join(path, "work/.agent"));
    expect(migrateState({ workspace: join(path, "work"), roots: [join(path, "work")] })).toBeUndefined();
  }
});

test("state moves although config.json is tracked; a folder that is named moves nothing", async () => {
  const { check, root, old } = await place();
  git(root, "init", "-q");
  git(root, "add", ".agent/config.json");
  expect(migrateState({ ...check, state_dir: "../other" })).toBeUndefined();
  expect(migrateState(check)).toEqual({ from: old, to: locateState(check) });
});

test("a person may adopt state that nothing vouches for, but not what git tracks", async () => {
  const { check, heads, old, root } = await place();
  renameSync(heads, `${heads}.gone`);
  git(root, "init", "-q");
  git(root, "add", "-A");
  expect(adoptOldState(old, check)).toMatch(/git tracks/);
  git(root, "rm", "-rq", "--cached", ".");
  expect(adoptOldState(old, check)).toBeUndefined();
  expect(existsSync(join(locateState(check), "autonous.db"))).toBe(true);
});

test("the state of a workspace that was moved is found, for a person to adopt", async () => {
  const { check, path, root } = await place();
  migrateState(check);
  const old = locateState(check);
  expect(orphanedStates()).toEqual([]);
  renameSync(root, join(path, "renamed"));
  expect(orphanedStates()).toEqual([old]);
  const now = { workspace: join(path, "renamed"), roots: [join(path, "renamed")] };
  mkdirSync(join(locateState(now), "sandbox"), { recursive: true, mode: 0o700 }); // as doctor leaves it
  expect(adoptOldState(old, now)).toBeUndefined();
  expect(await verifyAudit(locateState(now))).toMatchObject({ ok: true, problems: [] });
  expect(orphanedStates()).toEqual([]);
});

test("processes that start at once move it once, and all of them use it", async () => {
  const { check, old, root, undo_id } = await place();
  const program = `
    import { createRuntime } from "@autonous/runtime";
    const runtime = await createRuntime({ roots: [${JSON.stringify(root)}] });
    const { ok, error } = await runtime.call({ name: "read", args: { path: "a.txt" } });
    await runtime.close();
    if (!ok) throw new Error(error.message);
  `;
  const ended = Array.from({ length: 4 }, async () => {
    const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
      cwd: import.meta.dirname,
      stdio: ["ignore", "inherit", "pipe"],
      env: { ...process.env, NODE_OPTIONS: "--conditions=@autonous/source", NODE_COMPILE_CACHE: undefined },
    });
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, "exit")]);
    return { code: code as number, moved: said.split("was moved from").length - 1 };
  });
  const all = await Promise.all(ended);
  expect(all.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  expect(all.reduce((sum, { moved }) => sum + moved, 0)).toBeGreaterThanOrEqual(1);
  expect(readdirSync(old).sort()).toEqual(["config.json", "skills"]);
  const to = locateState(check);
  expect(readdirSync(join(to, "runs"))).toHaveLength(5);
  expect(await verifyAudit(to)).toMatchObject({ ok: true, problems: [] });
  const runtime = await createRuntime({ roots: [root] });
  onTestFinished(() => runtime.close());
  expect((await runtime.undo(undo_id)).error).toBeNull();
}, 240_000);

/** A folder of another file system, where the machine has one. */
const SHARED_MEMORY = "/dev/shm";
const hasOtherDisk =
  existsSync(SHARED_MEMORY) && statSync(SHARED_MEMORY).dev !== statSync(tmpdir()).dev && isWritable(SHARED_MEMORY);

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

test.skipIf(!hasOtherDisk)(
  "old state is moved to another file system with its modes, and can be undone there (skipped: needs /dev/shm apart from the temporary folder)",
  async () => {
    const user = mkdtempSync(join(SHARED_MEMORY, "autonous-test-"));
    onTestFinished(() => rmSync(user, { recursive: true, force: true }));
    const { check, old, root, undo_id } = await place(user);
    const to = locateState(check);
    mkdirSync(`${to}/runs.part`, { recursive: true, mode: 0o700 });
    writeFileSync(`${to}/runs.part/left-by-a-killed-move`, "x");
    writeFileSync(join(to, "moving"), old);
    expect(migrateState(check)).toEqual({ from: old, to });
    expect(statSync(to).dev).not.toBe(statSync(root).dev);
    expect(readdirSync(to).filter((name) => name.endsWith(".part"))).toEqual([]);
    expect(readdirSync(join(to, "runs"))).toEqual(["run_1"]);
    expect(statSync(join(to, "runs/run_1/events.jsonl")).mode & 0o777).toBe(0o600);
    expect(await verifyAudit(to)).toMatchObject({ ok: true, problems: [] });
    const runtime = await createRuntime({ roots: [root] });
    onTestFinished(() => runtime.close());
    expect((await runtime.undo(undo_id)).error).toBeNull();
  },
);

test("adopted state whose logs name places outside changes nothing there, at the start and by undo", async () => {
  const { check, heads, old, path, root, undo_id } = await place();
  const outside = join(path, "outside.txt");
  writeFileSync(outside, "theirs");
  const [log = ""] = readdirSync(join(old, "undo/logs"));
  const lines = readFileSync(join(old, "undo/logs", log), "utf8").replaceAll(join(root, "a.txt"), outside);
  writeFileSync(join(old, "undo/logs", log), lines);
  mkdirSync(join(old, "undo/open"), { recursive: true });
  writeFileSync(join(old, "undo/open/undo_01k0000000000000000000000@1.1.another-boot.1.jsonl"), lines);
  renameSync(heads, `${heads}.gone`);
  expect(adoptOldState(old, check)).toBeUndefined();
  const runtime = await createRuntime({ roots: [root] });
  onTestFinished(() => runtime.close());
  const { ok, error } = await runtime.undo(undo_id);
  expect(ok).toBe(false);
  expect(error?.code).not.toBe("InternalError");
  expect((await runtime.undo("run_1", { force: true })).ok).toBe(false);
  expect(readFileSync(outside, "utf8")).toBe("theirs");
});

test("every name that work leaves in a state folder is one that a move takes along", async () => {
  const { check, root } = await place();
  migrateState(check);
  const runtime = await createRuntime({ roots: [root] });
  await runtime.call({ name: "write", args: { path: "b.txt", content: "b" } });
  await runtime.call({ name: "ls", args: {} });
  await runtime.call({ name: "bash", args: { cmd: "touch c.txt" } });
  await runtime.call({ name: "delete_file", args: { path: "b.txt" } });
  const to = locateState(check);
  const own = new Set([".gitignore", "mark", "workspace"]);
  const names = readdirSync(to).filter((name) => !own.has(name));
  expect(names).toEqual(expect.arrayContaining(["open-runs", "runs", "undo"]));
  expect([...stateNamesIn(to)].sort()).toEqual(names.sort());
  await runtime.close();
});
