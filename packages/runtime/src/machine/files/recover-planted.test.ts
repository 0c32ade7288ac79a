/** Forged or damaged logs: nothing outside the roots changes, and none of them stops the start. */
import { hash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { recoverChanges } from "./recover-changes.ts";
import { tryLock } from "../system/lock-files.ts";
import { PathLocks } from "../system/path-locks.ts";

const EVIL = "[core]\n\tsshCommand = evil\n";
const sha256 = hash("sha256", EVIL, "hex");
const evil = { sha256, size: EVIL.length, mode: 0o755 };
const LOG = "undo_01k0000000000000000000000@1.1.another-boot.1.jsonl";

async function place() {
  const folder = await scratchFolder();
  const { path, make } = folder;
  await make({
    "root/a.txt": "a",
    "outside/keep.txt": "keep",
    "outside/.autonous-01k0000000000000000000000-1.tmp": "theirs",
    "outside/empty/": "",
    [`state/undo/objects/${sha256.slice(0, 2)}/${sha256}`]: EVIL,
    "state/undo/logs/": "",
    "state/locks/": "",
    "state/undo/open/": "",
  });
  chmodSync(join(path, "outside/keep.txt"), 0o640);
  const workspace = { roots: [join(path, "root")], home: join(path, "home"), state_dirs: [join(path, "state")] };
  const fill = (text: string): string =>
    text.replaceAll("{out}", join(path, "outside")).replaceAll("{root}", join(path, "root"));
  return {
    ...folder,
    state_dir: join(path, "state"),
    workspace,
    plant: (lines: readonly unknown[], name = LOG) =>
      writeFileSync(
        join(path, "state/undo/open", name),
        lines.map((line) => fill(`${typeof line === "string" ? line : JSON.stringify(line)}\n`)).join(""),
      ),
    recover: () => recoverChanges(join(path, "state"), workspace),
    outside: () =>
      readdirSync(join(path, "outside"), { recursive: true, encoding: "utf8" })
        .sort()
        .map((name) => {
          const stats = lstatSync(join(path, "outside", name));
          return [name, stats.mode, stats.isFile() ? readFileSync(join(path, "outside", name), "utf8") : ""];
        }),
  };
}

const ids = { undo_id: "undo_1", run_id: "run_1", tool_call_id: "call_1", ts: "2026-01-01T00:00:00.000Z" };
const file = (real: string, before: object | null, after: object | null, more: object = {}) => ({
  path: "x",
  real,
  before,
  after,
  ...more,
});
const absent = file("{root}/never", null, { ...evil, size: 1 }); // still "old", so that "new" files are rolled back
const none = { before_inode: null, after_inode: null, backup: null };

// oxfmt-ignore
const PLANTED = [
  { title: "writes a file outside",            lines: [{ change: { ...ids, files: [file("{out}/new", evil, null), absent] }, staged: [none, none] }] },
  { title: "writes over a file outside",       lines: [{ change: { ...ids, files: [file("{out}/keep.txt", evil, null), file("{out}/new", evil, null), absent] }, staged: [] }] },
  { title: "goes up from the root",            lines: [{ change: { ...ids, files: [file("{root}/../outside/new", evil, null), absent] }, staged: [none, none] }] },
  { title: "follows a link in the root",       lines: [{ change: { ...ids, files: [file("{root}/link/new", evil, null), absent] }, staged: [none, none] }] },
  { title: "names one path and opens another",  lines: [{ change: { ...ids, files: [file("{root}/new", evil, null, { key: "{out}/new" }), absent] }, staged: [none, none] }] },
  { title: "writes the state itself",          lines: [{ change: { ...ids, files: [file("{root}/../state/http.token", evil, null), absent] }, staged: [none, none] }] },
  { title: "moves a file in as a backup",      lines: [{ change: { ...ids, files: [file("{root}/new", evil, null), absent] }, staged: [{ ...none, backup: "../outside/keep.txt" }, none] }] },
  { title: "sweeps a folder outside",          lines: [{ folder: "{out}" }, { change: { ...ids, files: [] }, staged: [] }] },
  { title: "sweeps only outside",              lines: [{ folder: "{out}" }] },
  { title: "removes a folder outside",         lines: [{ making: ["{out}/empty"], undo_id: "undo_1" }] },
  { title: "removes a folder of a change",     lines: [{ change: { ...ids, files: [file("{root}/n", null, evil, { folders_made: ["{out}/empty"] })] }, staged: [none] }] },
  { title: "names a relative path",           lines: [{ folder: "../outside" }, { change: { ...ids, files: [file("new", evil, null), absent] }, staged: [] }] },
] as const;

for (const { title, lines } of PLANTED) {
  test(`a log that ${title} changes nothing outside`, async () => {
    const { path, plant, recover, outside, state_dir } = await place();
    symlinkSync("../outside", join(path, "root/link"));
    plant(lines);
    const before = outside();

    const { changes, left } = await recover();

    expect(outside()).toEqual(before);
    expect(existsSync(join(state_dir, "http.token"))).toBe(false);
    expect(changes).toBe(title === "follows a link in the root" ? changes : 0);
    for (const { why } of left) expect(why).toMatch(/outside the current roots|log is damaged|files have changed/);
    expect(readFileSync(join(path, "root/a.txt"), "utf8")).toBe("a");
  });
}

test("a change that reaches outside is reported, and waits for a start with its roots", async () => {
  const { plant, recover, state_dir, workspace, path } = await place();
  plant([
    {
      change: { ...ids, files: [file("{out}/new", evil, null), { ...absent, real: "{out}/never" }] },
      staged: [none, none],
    },
  ]);
  for (let start = 0; start < 2; start++)
    expect((await recover()).left).toEqual([
      {
        undo_id: "undo_1",
        run_id: "run_1",
        tool_call_id: "call_1",
        files: [join(path, "outside/new"), join(path, "outside/never")],
        why: "it reaches outside the current roots",
      },
    ]);
  const wider = { ...workspace, roots: [...workspace.roots, join(path, "outside")] };
  expect(await recoverChanges(state_dir, wider)).toEqual({ changes: 1, left: [] });
  expect(readFileSync(join(path, "outside/new"), "utf8")).toBe(EVIL);
});

// oxfmt-ignore
const DAMAGED = [
  ["null"], ["5"], ['"text"'], ["[]"], ["{}"], ['{"change":null}'], ['{"change":{"undo_id":"u"}}'], ['{"folder":7}'], ['{"making":"x","undo_id":1}'],
  ['{"change":{"undo_id":"u","run_id":"r","tool_call_id":"c","files":[null]},"staged":[]}'],
  ['{"change":{"undo_id":"u","run_id":"r","tool_call_id":"c","files":[]},"staged":{"0":1},"packed":[{"sha256":"x","at":-1,"size":1e99}]}'],
  ["not JSON at all", '{"torn":'], ["\u0000\u0001"], ['{"__proto__":{"folder":1}}'],
] as const;

for (const lines of DAMAGED) {
  test(`a log of ${JSON.stringify(lines[0]).slice(0, 60)} does not stop the start`, async () => {
    const { plant, recover, outside } = await place();
    plant(lines);
    const before = outside();
    await recover();
    await recover();
    expect(outside()).toEqual(before);
  });
}

for (const name of ["..@x.jsonl", "@.jsonl", "x.jsonl", ".jsonl", "undo_1@.jsonl", "-@-.jsonl"]) {
  test(`a log with the name ${name} is left alone`, async () => {
    const { plant, recover, outside, path } = await place();
    plant(PLANTED[0].lines, name);
    const before = outside();
    await recover();
    expect(outside()).toEqual(before);
    expect(existsSync(join(path, "root/never"))).toBe(false);
  });
}

test("a log that is left alone keeps no lock, so no process waits for it forever", async () => {
  const { plant, state_dir, workspace, path } = await place();
  plant([{ change: { ...ids, files: [file("{out}/new", evil, null), absent] }, staged: [none, none] }]);
  const real = join(path, "root/never");
  const lock = join(state_dir, "locks", hash("sha256", real, "hex").slice(0, 32));
  mkdirSync(dirname(lock), { recursive: true });
  writeFileSync(lock, "1.1.another-boot.1");
  expect(tryLock(lock)).toMatchObject({ gone: true });
  const locks = new PathLocks({ state_dir, recover: () => recoverChanges(state_dir, workspace) });
  await locks.hold([real], AbortSignal.timeout(20_000), async () => {});
  expect(statSync(join(path, "outside/keep.txt")).mode & 0o777).toBe(0o640);
});
