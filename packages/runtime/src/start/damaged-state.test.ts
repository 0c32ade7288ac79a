import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createRuntime, verifyAudit } from "@autonous/runtime";
import { headsFolder } from "@autonous/runtime/internal";
import type { Runtime, ToolCallResult } from "@autonous/runtime";
import { expect, onTestFinished, test } from "vitest";
import { scratchFolder } from "../../../../test/support/scratch.ts";

/** Files of our own state that were changed or damaged: calls that need them are refused, and no others. */

async function place() {
  const { path, make } = await scratchFolder();
  await make({ "root/a.txt": "a", "root/b.txt": "b" });
  const state = join(path, "state");
  const open = async (run_id?: string): Promise<Runtime> => {
    const about = { roots: [join(path, "root")], state_dir: state, ...(run_id === undefined ? {} : { run_id }) };
    const runtime = await createRuntime(about);
    onTestFinished(() => runtime.close());
    return runtime;
  };
  return { state, open };
}

// oxfmt-ignore
const CONTENTS = [
  { title: "nothing",                content: "" },
  { title: "what is not JSON",       content: "nonsense{" },
  { title: "half of it",             content: '{"approvals":[{"req' },
  { title: "null",                   content: "null" },
  { title: "a number",               content: "7" },
  { title: "a list",                 content: "[]" },
  { title: "another shape",          content: '{"approvals":7,"grants":{},"changes":7,"state":7}' },
  { title: "members that are null",  content: '{"approvals":[null],"grants":[null],"changes":[null]}' },
  { title: "bytes",                  content: "\0\u0001\uFFFD" },
] as const;

function isPlain({ ok, error }: ToolCallResult, names: string): void {
  expect({ ok, code: error?.code }).toEqual({ ok: false, code: "RecordFailed" });
  expect(error?.message).toContain(names);
  expect(error?.message.length).toBeLessThan(1000);
  expect(error?.hint).not.toBe("");
}

for (const { title, content } of CONTENTS) {
  test(`the record of a background command that holds ${title} is refused by name, and the others are listed`, async () => {
    const { state, open } = await place();
    const runtime = await open();
    mkdirSync(join(state, "background"), { recursive: true });
    writeFileSync(join(state, "background", "bg_1.json"), content);
    const facts = {
      background_id: "bg_2",
      pid: 1,
      state: "exited",
      started_at: "2026-01-01T00:00:00.000Z",
    };
    writeFileSync(
      join(state, "background", "bg_2.json"),
      JSON.stringify({ ...facts, owner: "1", run: "make", cwd: "/", sandbox: "none" }),
    );
    const listed = await runtime.call({ name: "background_list", args: {} });
    expect(listed).toMatchObject({ ok: true, error: null });
    expect(listed.payload?.stdout).toContain("bg_2");
    isPlain(await runtime.call({ name: "background_output", args: { background_id: "bg_1" } }), "background/bg_1.json");
    isPlain(await runtime.call({ name: "background_stop", args: { background_id: "bg_1" } }), "background/bg_1.json");
  });

  test(`approvals of another run and grants of sessions that hold ${title} take nothing from a run, and are reported`, async () => {
    const { state, open } = await place();
    const other = await open("run_other");
    await other.call({ name: "ls", args: {} });
    await other.close();
    writeFileSync(join(state, "runs", "run_other", "approvals.json"), content);
    writeFileSync(join(state, "grants.json"), content);
    const runtime = await open("run_own");
    expect(await runtime.call({ name: "write", args: { path: "a.txt", content: "b" } })).toMatchObject({ ok: true });
    expect((await runtime.call({ name: "delete_file", args: { path: "a.txt" } })).error?.code).toBe("ApprovalRequired");
    expect(await runtime.approvals.list({ state: "pending" })).toHaveLength(1);
    expect(await runtime.approvals.list()).toHaveLength(1);
    expect(await runtime.approvals.grants()).toEqual([]);
    expect(await runtime.approvals.revoke("gra_1")).toBe(false);
    await runtime.close();
    const { problems } = await verifyAudit(state);
    expect(problems.map(({ problem }) => problem)).toEqual([
      expect.stringMatching(/^"approvals.json" cannot be used: it is (?:not )?valid JSON.*; move it away$/),
      expect.stringMatching(/^"grants.json" cannot be used: it is (?:not )?valid JSON.*; move it away$/),
    ]);
  });

  test(`a run whose own approvals hold ${title} refuses what has to be approved, by name, and keeps the file`, async () => {
    const { state, open } = await place();
    const runtime = await open("run_own");
    await runtime.call({ name: "ls", args: {} });
    const file = join(state, "runs", "run_own", "approvals.json");
    writeFileSync(file, content);
    isPlain(await runtime.call({ name: "delete_file", args: { path: "a.txt" } }), "run_own/approvals.json");
    expect(readFileSync(file, "utf8")).toBe(content);
    expect(await runtime.call({ name: "read", args: { path: "a.txt" } })).toMatchObject({ ok: true });
  });

  test(`a note of pruned changes that holds ${title} makes an undo report an unknown change`, async () => {
    const { state, open } = await place();
    const runtime = await open();
    mkdirSync(join(state, "undo", "pruned"), { recursive: true });
    writeFileSync(join(state, "undo", "pruned", "x.json"), `${content}"undo_1"`);
    const result = await runtime.undo("undo_1");
    expect(result.ok).toBe(false);
    expect(result.error?.code).not.toBe("InternalError");
  });
}

test("a line of a record that is not an event is named with its file and line, and a new run goes on", async () => {
  const { state, open } = await place();
  const first = await open("run_1");
  for (let i = 0; i < 3; i++) await first.call({ name: "ls", args: {} });
  await first.close();
  const file = join(state, "runs", "run_1", "events.jsonl");
  const lines = readFileSync(file, "utf8").split("\n");
  for (const bad of ["nonsense", "", "null", "[]", '{"seq":2}']) {
    writeFileSync(file, lines.with(1, bad).join("\n"));
    const runtime = await open();
    const read = Array.fromAsync(runtime.events({ run_id: "run_1" }));
    await expect(read).rejects.toMatchObject({
      code: "RecordFailed",
      message: expect.stringContaining(`"${file}": line 2 `) as string,
    });
    expect(await runtime.call({ name: "ls", args: {} })).toMatchObject({ ok: true });
    await runtime.close();
    expect((await verifyAudit(file)).problems[0]?.problem).toMatch(/line 2 is not/);
  }
});

test("a head that is not valid is reported as damaged, and its run refuses further calls in words", async () => {
  const { state, open } = await place();
  const first = await open("run_1");
  await first.call({ name: "ls", args: {} });
  await first.close();
  const name =
    readdirSync(headsFolder()).find((each) => readFileSync(join(headsFolder(), each), "utf8").includes(state)) ?? "";
  const good = readFileSync(join(headsFolder(), name), "utf8");
  for (const bad of [good.replace(/".*"/, '"\\x"'), good.slice(0, 40), `${good}x`, "\0".repeat(100)]) {
    writeFileSync(join(headsFolder(), name), bad);
    expect((await verifyAudit(join(state, "runs", "run_1"))).problems[0]?.problem).toMatch(
      /head.* cannot be read|removed/,
    );
    const runtime = await open("run_1");
    isPlain(await runtime.call({ name: "ls", args: {} }), "head");
    await runtime.close();
  }
});

test("a line that is longer than any of ours is found as such, whole or torn, and does not stop the others", async () => {
  const { state, open } = await place();
  const first = await open("run_1");
  await first.call({ name: "ls", args: {} });
  await first.close();
  const file = join(state, "runs", "run_1", "events.jsonl");
  const good = readFileSync(file, "utf8");
  const long = "x".repeat(70_000_000);
  writeFileSync(file, `${long}\n${good}`);
  expect((await verifyAudit(file)).problems[0]?.problem).toMatch(
    /line 1 is too long for an event \(70000000 characters\)/,
  );
  writeFileSync(file, `${good}${long}`);
  const runtime = await open("run_1");
  expect(await runtime.call({ name: "ls", args: {} })).toMatchObject({ ok: true });
  await runtime.close();
  expect(await verifyAudit(state)).toMatchObject({ ok: true });
});
