import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { scratchFolder } from "../../../test/support/scratch.ts";
import { verifyAudit } from "./journal/verify.ts";
import { adoptOldState, migrateState, migrationText, orphanedStates } from "./migrate-state.ts";
import { createRuntime } from "./runtime.ts";
import { checkState, locateState } from "./state-place.ts";

/** A workspace whose state lies in `.agent`, as earlier versions kept it, with one change on record. */
async function place() {
  const folder = await scratchFolder();
  await folder.make({ "work/a.txt": "old", "work/.agent/config.json": "{}", "work/.agent/skills/kit/SKILL.md": "x" });
  const root = join(folder.path, "work");
  vi.stubEnv("XDG_STATE_HOME", join(folder.path, "user"));
  onTestFinished(() => void vi.unstubAllEnvs());
  const runtime = await createRuntime({ roots: [root], state_dir: "../made", run_id: "run_1" });
  const { artifacts } = await runtime.call({ name: "write", args: { path: "a.txt", content: "new" } });
  await runtime.close();
  const old = join(root, ".agent");
  const [made, heads] = [join(folder.path, "made"), join(folder.path, "user/autonous/heads")];
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
  { title: "with a link in it",               do: ({ old }: Place) => symlinkSync("/etc", join(old, "undo/x")),                 says: /"undo\/x" in it is a link/ },
  { title: "beside state in the new place",   do: ({ check }: Place) => { mkdirSync(join(locateState(check), "runs"), { recursive: true, mode: 0o700 }); }, says: /there is state in/ },
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

test("a tracked config.json is no reason to leave state behind; a folder that is named moves nothing", async () => {
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
  expect(adoptOldState(old, now)).toBeUndefined();
  expect(await verifyAudit(locateState(now))).toMatchObject({ ok: true, problems: [] });
});
