import { execFileSync } from "node:child_process";
import { copyFile, cp, link, mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { scratch } from "../../../../test/support/scratch.ts";
import { verifyAudit } from "./verify.ts";

/** A run with a stored output, long arguments and an attachment. */
async function recordedRun() {
  const { runtime, make, path } = await scratch({ profile: "autonomous", sandbox: "off", run_id: "run_a" });
  await make({ "root/long.txt": "line\n".repeat(5000) });
  const calls = [
    { name: "bash", args: { cmd: "cat long.txt" }, tool_call_id: "call_long" },
    { name: "write", args: { path: "b.txt", content: "x".repeat(9000) }, tool_call_id: "call_args" },
    { name: "attach", args: { path: "long.txt" }, tool_call_id: "call_attach" },
  ];
  for (const call of calls) expect(await runtime.call(call)).toMatchObject({ ok: true });
  await runtime.close();
  const state = runtime.state_dir;
  return { state, run: join(state, "runs/run_a"), elsewhere: join(path, "elsewhere") };
}

/** Moves something out of the record, and puts a link to it in its place: what is read stays the same. */
async function linkAway(path: string, elsewhere: string): Promise<void> {
  await rename(path, elsewhere);
  await symlink(elsewhere, path);
}

const PARTS = ["events.jsonl", "observations", "observations/call_long.txt", "observations/call_args.arguments.json"];

for (const part of ["", ...PARTS, "artifacts"]) {
  test(`a link to the same content in the place of ${part || "the folder of a run"} is damage`, async () => {
    const { state, run, elsewhere } = await recordedRun();
    expect(await verifyAudit(state)).toMatchObject({ ok: true, problems: [] });
    await linkAway(part === "" ? run : join(run, part), elsewhere);
    const paths = [state, run, join(run, "events.jsonl")];
    for (const path of paths) {
      const { ok, problems } = await verifyAudit(path);
      expect({ path, ok, problems }).toMatchObject({
        ok: false,
        problems: [{ run_id: "run_a", problem: expect.stringContaining("is a link to") as string }],
      });
    }
  });
}

test("a link in the place of all runs is damage, and so is one of a run to nowhere", async () => {
  const { state, run, elsewhere } = await recordedRun();
  await symlink(`${elsewhere}-none`, join(state, "runs/run_b"));
  expect((await verifyAudit(state)).problems).toEqual([
    { seq: 0, run_id: "run_b", problem: `"run_b" is a link to "${elsewhere}-none", not a folder` },
  ]);
  await rm(join(state, "runs/run_b"));
  await linkAway(join(run, ".."), elsewhere);
  expect((await verifyAudit(state)).problems[0]?.problem).toMatch(/^"runs" is a link to/);
});

// oxfmt-ignore
const OTHERS = [
  { title: "a pipe",   says: "a pipe",   make: (path: string) => void execFileSync("mkfifo", [path]) },
  { title: "a folder", says: "a folder", make: (path: string) => mkdir(path) },
  { title: "a device behind a link", says: 'a link to "/dev/zero"', make: (path: string) => symlink("/dev/zero", path) },
  { title: "a link to itself",       says: "a link to",             make: (path: string) => symlink(path, path) },
  { title: "a socket", says: "a socket", make: async (path: string) => {
    // Names of sockets are short.
    process.chdir(join(path, ".."));
    const server = createServer().listen(path.slice(path.lastIndexOf("/") + 1));
    await new Promise((resolve) => server.once("listening", resolve));
    onTestFinished(() => new Promise((resolve) => void server.close(() => resolve())));
  } },
] as const;

const FILES = ["events.jsonl", "results.jsonl", "approvals.json", "observations/call_long.txt", "artifacts/new"];

for (const { title, says, make } of OTHERS) {
  test(`${title} in the place of a file of the record is damage, and nothing waits for it`, async () => {
    const cwd = process.cwd();
    onTestFinished(() => process.chdir(cwd));
    for (const file of FILES) {
      const { state, run } = await recordedRun();
      await rm(join(run, file), { force: true });
      await make(join(run, file));
      const { problems } = await verifyAudit(state);
      expect({ file, problems }).toEqual({
        file,
        problems: [
          expect.objectContaining({ run_id: "run_a", problem: expect.stringContaining(`is ${says}`) as string }),
        ],
      });
    }
    const { state } = await recordedRun();
    await mkdir(join(state, "pruned"));
    await make(join(state, "pruned/events.jsonl"));
    expect((await verifyAudit(state)).problems[0]?.problem).toContain(`"pruned/events.jsonl" is ${says}`);
  });
}

test("a path that is neither a file nor a folder is not a record", async () => {
  const { state } = await recordedRun();
  execFileSync("mkfifo", [join(state, "pipe")]);
  expect((await verifyAudit(join(state, "pipe"))).ok).toBe(false);
});

const EXTRA = [
  "observations/extra.txt",
  "observations/call_other.txt",
  "observations/.call_long.txt",
  "observations/call_other.data.json",
  "observations/call_long.sh",
  "artifacts/index.html",
];

for (const name of EXTRA) {
  test(`a file that no call stored is damage: ${name}`, async () => {
    const { state, run } = await recordedRun();
    await writeFile(join(run, name), "planted");
    expect((await verifyAudit(state)).problems).toEqual([
      { seq: 0, run_id: "run_a", problem: `"${name}" is not in the record: no call stored it` },
    ]);
  });
}

const LEFT = [
  "observations/call_killed.arguments.json",
  "observations/call_args.txt",
  "artifacts/.call_x-0.part",
  "artifacts/0123456789abcdef-a.txt",
];

for (const name of LEFT) {
  test(`a file that a killed process may have left is reported as a note, not as damage: ${name}`, async () => {
    const { state, run } = await recordedRun();
    await writeFile(join(run, name), "left");
    const { ok, notes } = await verifyAudit(state);
    expect({ ok, notes }).toEqual({
      ok: true,
      notes: [
        {
          seq: 0,
          run_id: "run_a",
          problem: expect.stringMatching(/left by a killed process, or added by another/) as string,
        },
      ],
    });
  });
}

test("many files that no call stored are counted, not listed", async () => {
  const { state, run } = await recordedRun();
  for (let i = 0; i < 50; i++) await writeFile(join(run, `observations/extra-${i}`), "");
  const { problems } = await verifyAudit(state);
  expect(problems).toHaveLength(21);
  expect(problems.at(-1)?.problem).toBe("and 30 more unrecorded files in the folder of this run");
});

test("files that a call stores while it runs do not count as damage", async () => {
  const { runtime, make } = await scratch({ profile: "autonomous", sandbox: "off", run_id: "run_a" });
  await make({ "root/long.txt": "line\n".repeat(5000) });
  const running = runtime.call({ name: "bash", args: { cmd: "cat long.txt; sleep 2" }, tool_call_id: "call_long" });
  const file = join(runtime.state_dir, "runs/run_a/observations/call_long.txt");
  await expect.poll(async () => await copyFile(file, `${runtime.state_dir}-copy`).then(() => true, () => false), { timeout: 20_000 }).toBe(true); // oxfmt-ignore
  expect(await verifyAudit(runtime.state_dir)).toMatchObject({ ok: true, problems: [] });
  await running;
  await runtime.close();
});

test("hard links are noted, and what is written by them is found", async () => {
  const { state, run, elsewhere } = await recordedRun();
  await mkdir(elsewhere);
  await link(join(run, "events.jsonl"), join(elsewhere, "events"));
  await link(join(run, "observations/call_long.txt"), join(elsewhere, "output"));
  const verdict = await verifyAudit(state);
  expect(verdict.ok).toBe(true);
  expect(verdict.notes?.map(({ problem }) => problem)).toEqual([
    '"events.jsonl" has a hard link elsewhere: it can be changed through that link',
    '"observations/call_long.txt" has a hard link elsewhere: it can be changed through that link',
  ]);
  await writeFile(join(elsewhere, "output"), "other");
  expect((await verifyAudit(state)).problems[0]?.problem).toContain("was changed");
});

test("a state folder that is reached through a link is as it was", async () => {
  const { state, run, elsewhere } = await recordedRun();
  await symlink(state, elsewhere);
  for (const path of [elsewhere, join(elsewhere, "runs/run_a"), join(elsewhere, "runs/run_a/events.jsonl")])
    expect(await verifyAudit(path)).toMatchObject({ ok: true, problems: [] });
  await cp(run, `${elsewhere}-copy`, { recursive: true });
  await symlink(run, `${elsewhere}-run`);
  expect(await verifyAudit(`${elsewhere}-run`)).toMatchObject({ ok: true, problems: [] });
});
