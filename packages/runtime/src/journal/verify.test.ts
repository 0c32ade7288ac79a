import { appendFile, copyFile, cp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { scratch } from "../../../../test/support/scratch.ts";
import type { EventDraft, RuntimeEvent } from "../protocol/event-record.ts";
import { chainEvents, EMPTY_TAIL } from "./hash-chain.ts";
import { headsFolder, replaceHead } from "./heads.ts";
import { JsonlJournal } from "./jsonl-journal.ts";
import { recordKeyFile } from "./record-key.ts";
import type { RecordKey } from "./record-key.ts";
import { verifyAudit } from "./verify.ts";

/** The lines of each record as they were written. */
const truthOf = new Map<string, readonly string[]>();

/** A run of five calls: ten events. */
async function recordedRun(): Promise<{ file: string; folder: string; state: string }> {
  const { call, runtime, make } = await scratch();
  await make({ "root/a.txt": "a" });
  for (let i = 0; i < 5; i++) await call("ls", { path: "." });
  await runtime.close();
  const folder = join(runtime.state_dir, "runs", runtime.run_id);
  truthOf.set(
    join(folder, "events.jsonl"),
    (await readFile(join(folder, "events.jsonl"), "utf8")).trimEnd().split("\n"),
  );
  return { file: join(folder, "events.jsonl"), folder, state: runtime.state_dir };
}

async function changeLines(file: string, change: (lines: string[]) => string[]): Promise<void> {
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  await writeFile(file, `${change(lines).join("\n")}\n`);
}

test("an untouched journal is intact, as a file, a run and a state folder", async () => {
  const { file, folder, state } = await recordedRun();
  for (const path of [file, folder, state])
    expect(await verifyAudit(path)).toEqual({ ok: true, records: 10, problems: [] });
});

// oxfmt-ignore
const TAMPERING = [
  { title: "a changed record",       change: (lines: string[]) => lines.map((line, i) => (i === 3 ? line.replace('"latency_ms":', '"latency_ms":1') : line)), seq: 4,  says: /changed/ },
  { title: "a removed record",       change: (lines: string[]) => lines.filter((_, i) => i !== 3),                                                           seq: 5,  says: /expected record 4/ },
  { title: "a removed first record", change: (lines: string[]) => lines.slice(1),                                                                            seq: 2,  says: /expected record 1/ },
  { title: "reordered records",      change: (lines: string[]) => [lines[1]!, lines[0]!, ...lines.slice(2)],                                                 seq: 2,  says: /expected record 1/ },
  { title: "a record put in twice",  change: (lines: string[]) => [...lines.slice(0, 4), lines[3]!, ...lines.slice(4)],                                      seq: 4,  says: /expected record 5/ },
  { title: "a cut tail",             change: (lines: string[]) => lines.slice(0, 8),                                                                         seq: 9,  says: /tail was cut/ },
  { title: "a line of nonsense",     change: (lines: string[]) => [...lines, "nonsense"],                                                                    seq: 11, says: /line 11 is not valid JSON/ },
  { title: "everything gone",        change: () => [],                                                                                                      seq: 1,  says: /line 1 is not valid JSON/ },
] as const;

for (const { title, change, seq, says } of TAMPERING) {
  test(`${title} is found`, async () => {
    const { file } = await recordedRun();
    await changeLines(file, change);
    const { ok, problems } = await verifyAudit(file);
    expect(ok).toBe(false);
    expect(problems[0]).toMatchObject({ seq, problem: expect.stringMatching(says) as string });
  });
}

test("another run's record in its place is found, and so is the run that is gone with it", async () => {
  const { file, folder } = await recordedRun();
  const other = await recordedRun();
  await copyFile(other.file, file);
  const run_id = basename(folder);
  const { problems } = await verifyAudit(file);
  expect(problems[0]).toMatchObject({
    seq: 1,
    run_id,
    problem: expect.stringMatching(/belongs to another run/) as string,
  });
  await rm(other.folder, { recursive: true });
  expect((await verifyAudit(other.state)).problems).toEqual([
    expect.objectContaining({
      run_id: basename(other.folder),
      problem: expect.stringContaining("is missing; its head") as string,
    }),
  ]);
});

/** Rewrites the events like an attacker who knows the format of the chain but does not have the key. */
async function rechain(
  file: string,
  change: (events: readonly RuntimeEvent[]) => readonly EventDraft[],
  key?: RecordKey,
): Promise<void> {
  const events = (await readFile(file, "utf8"))
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as RuntimeEvent);
  const lines = chainEvents(change(events).map(toDraft), EMPTY_TAIL, key).map(({ line }) => line);
  await writeFile(file, `${lines.join("\n")}\n`);
}

function toDraft(event: EventDraft): EventDraft {
  const { event_id, ts, type, trace_id, task_id, run_id, parent_id, payload } = event;
  return { event_id, ts, type, trace_id, task_id, run_id, parent_id, payload };
}

test("two runs whose files and heads were swapped are found", async () => {
  const { call, runtime } = await scratch();
  for (const run_id of ["run_a", "run_b"]) await runtime.call({ name: "ls", args: {}, run_id });
  await call("ls");
  await runtime.close();
  const files = ["run_a", "run_b"].map((run_id) => join(runtime.state_dir, "runs", run_id, "events.jsonl"));
  const heads = ["run_a", "run_b"].map((run_id) => join(headsFolder(), run_id));
  for (const [one = "", other = ""] of [files, heads]) {
    await rename(one, `${one}.x`);
    await rename(other, one);
    await rename(`${one}.x`, other);
  }
  const { problems } = await verifyAudit(runtime.state_dir);
  expect(problems.map(({ run_id, problem }) => `${run_id} ${problem}`)).toEqual([
    'run_a the event belongs to another run ("run_b")',
    'run_b the event belongs to another run ("run_a")',
  ]);
});

test("a run that was copied under another name and hashed again is found, though no head lists it", async () => {
  const { folder, state } = await recordedRun();
  await cp(folder, join(state, "runs", "run_copy"), { recursive: true });
  const file = join(state, "runs", "run_copy", "events.jsonl");
  await rechain(file, (events) => events.map((event) => ({ ...event, run_id: "run_copy" })));
  expect((await verifyAudit(state)).problems).toEqual([
    { seq: 0, run_id: "run_copy", problem: expect.stringMatching(/no head is stored[^]*no MAC/) as string },
  ]);
});

for (const added of [1, 20]) {
  test(`${added} records chained on after the head are found, and the run cannot be continued over them`, async () => {
    const { file, folder, state } = await recordedRun();
    await rechain(file, (events) => [...events, ...Array<EventDraft>(added).fill(events[9]!)]);
    const forged = (await readFile(file, "utf8")).trimEnd().split("\n");
    const original = await rewriteFirst(file, forged.slice(10));
    expect(original).toBe(10 + added);
    const { problems } = await verifyAudit(state);
    expect(problems).toEqual([
      expect.objectContaining({ seq: 11, problem: expect.stringMatching(/past the head \(10\)/) as string }),
    ]);
    const options = { state_dir: state, run_id: basename(folder), heads: headsFolder() };
    expect(() => new JsonlJournal(options)).toThrow(/record 11 is past its head \(10\)/);
  });
}

/** Puts the true records back before forged ones, which follow from them. Gives the number of lines. */
async function rewriteFirst(file: string, forged: readonly string[]): Promise<number> {
  const truth = truthOf.get(file) ?? [];
  const tail = JSON.parse(truth.at(-1) ?? "") as RuntimeEvent;
  const drafts = forged.map((line) => toDraft(JSON.parse(line) as RuntimeEvent));
  const lines = [...truth, ...chainEvents(drafts, tail).map(({ line }) => line)];
  await writeFile(file, `${lines.join("\n")}\n`);
  return lines.length;
}

test("a head that lags is not damage where the lines beyond it carry the MAC of this user", async () => {
  const { file, folder, state } = await recordedRun();
  const run_id = basename(folder);
  const sixth = JSON.parse(truthOf.get(file)![5]!) as RuntimeEvent;
  replaceHead(headsFolder(), { run_id, seq: 6, hash: sixth.hash, state_dir: state });
  expect(await verifyAudit(state)).toEqual({ ok: true, records: 10, problems: [] });
  const journal = new JsonlJournal({ state_dir: state, run_id, heads: headsFolder() });
  await journal.append([toDraft(sixth)]);
  await journal.close();
  expect((await verifyAudit(state)).ok).toBe(true);
  await writeFile(join(headsFolder(), run_id), ""); // made, and its process was killed before it was written
  expect((await verifyAudit(state)).ok).toBe(true);
});

test("a missing head is reported, and so are all of them", async () => {
  const { folder, state } = await recordedRun();
  await rm(join(headsFolder(), basename(folder)));
  expect((await verifyAudit(state)).problems).toEqual([
    { seq: 0, run_id: basename(folder), problem: expect.stringMatching(/no head is stored/) as string },
  ]);
  await rm(headsFolder(), { recursive: true });
  expect((await verifyAudit(state)).ok).toBe(false);
});

test("a record of another machine is told as such, not as damage", async () => {
  const { folder, state } = await recordedRun();
  await rm(join(headsFolder(), basename(folder)));
  await rm(recordKeyFile());
  expect((await verifyAudit(state)).problems).toEqual([
    expect.objectContaining({ kind: "unproven", problem: expect.stringMatching(/another user or machine/) as string }),
  ]);
});

test("a copy of a state folder names its original; one that was moved is fine", async () => {
  const { state } = await recordedRun();
  await cp(state, `${state}-copy`, { recursive: true });
  expect((await verifyAudit(`${state}-copy`)).problems).toEqual([
    expect.objectContaining({
      kind: "unproven",
      problem: `this is a copy: the run was recorded in "${state}" and still exists there`,
    }),
  ]);
  await rm(`${state}-copy`, { recursive: true });
  await rename(state, `${state}-moved`);
  expect(await verifyAudit(`${state}-moved`)).toEqual({ ok: true, records: 10, problems: [] });
});

test("runs of one name in two state folders have heads of their own", async () => {
  const places = [await scratch({ run_id: "main" }), await scratch({ run_id: "main" })];
  for (const { call } of places) await call("ls");
  await places[0]!.call("ls");
  for (const { runtime } of places) await runtime.close();
  expect(await verifyAudit(places[0]!.runtime.state_dir)).toEqual({ ok: true, records: 4, problems: [] });
  expect(await verifyAudit(places[1]!.runtime.state_dir)).toEqual({ ok: true, records: 2, problems: [] });
});

// oxfmt-ignore
const STORED = [
  { title: "a changed output",         file: "observations/call_long.txt",            change: (file: string) => appendFile(file, "x"), says: /was changed/ },
  { title: "a deleted output",         file: "observations/call_long.txt",            change: (file: string) => rm(file),              says: /is missing/ },
  { title: "changed long arguments",   file: "observations/call_args.arguments.json", change: (file: string) => writeFile(file, "{}"), says: /was changed/ },
  { title: "deleted long arguments",   file: "observations/call_args.arguments.json", change: (file: string) => rm(file),              says: /is missing/ },
  { title: "a changed attachment",     file: "artifacts",                             change: (file: string) => changeFirst(file),     says: /"artifacts\/.*" *, which this call stored, was changed/ },
  { title: "an output that is a link", file: "observations/call_long.txt",            change: async (file: string) => { await rm(file); await symlink("/etc/hostname", file); }, says: /is a link to "\/etc\/hostname", not a regular file/ },
] as const;

async function changeFirst(folder: string): Promise<void> {
  const [name = ""] = await readdir(folder);
  await writeFile(join(folder, name), "something else");
}

for (const { title, file, change, says } of STORED) {
  test(`${title} is found`, async () => {
    const { runtime, make } = await scratch({ profile: "autonomous", sandbox: "off" });
    await make({ "root/long.txt": "line\n".repeat(5000) });
    const calls = [
      { name: "bash", args: { cmd: "cat long.txt" }, tool_call_id: "call_long" },
      { name: "write", args: { path: "b.txt", content: "x".repeat(9000) }, tool_call_id: "call_args" },
      { name: "attach", args: { path: "long.txt" }, tool_call_id: "call_attach" },
    ];
    for (const call of calls) expect(await runtime.call(call)).toMatchObject({ ok: true });
    await runtime.close();
    expect((await verifyAudit(runtime.state_dir)).problems).toEqual([]);
    await change(join(runtime.state_dir, "runs", runtime.run_id, file));
    const { problems } = await verifyAudit(runtime.state_dir);
    expect(problems).toHaveLength(1);
    expect(problems[0]?.problem).toMatch(says);
  });
}

test("arguments that look like a reference to stored output are not treated as one", async () => {
  const { runtime } = await scratch();
  const args = { path: ".", excerpt: "x", storage_ref: "observations/call_none.txt", sha256: "0".repeat(64) };
  expect((await runtime.call({ name: "ls", args })).error?.code).toBe("InvalidArguments");
  await runtime.close();
  expect((await verifyAudit(runtime.state_dir)).problems).toEqual([]);
});

test("a state folder that was put back to how it was before is found", async () => {
  const { call, runtime, path } = await scratch();
  await call("ls");
  await cp(runtime.state_dir, join(path, "old"), { recursive: true });
  await call("ls");
  await runtime.close();
  await rm(runtime.state_dir, { recursive: true });
  await cp(join(path, "old"), runtime.state_dir, { recursive: true });
  expect((await verifyAudit(runtime.state_dir)).problems[0]?.problem).toMatch(/ends at 2, but its head is at 4/);
});

test("a missing state folder is reported, also for another spelling of its path", async () => {
  const { state } = await recordedRun();
  await rm(state, { recursive: true });
  for (const path of [state, `${state}/`, join(state, "..", basename(state))]) {
    expect((await verifyAudit(path)).problems).toEqual([
      expect.objectContaining({ seq: 0, problem: expect.stringMatching(/is missing; its head/) as string }),
    ]);
  }
  expect(await verifyAudit(join(state, "never"))).toEqual({ ok: true, records: 0, problems: [] });
});

test("a torn last line, which was never acknowledged, is a note, not damage; the next start of the run repairs and reports it", async () => {
  const { call, runtime, path } = await scratch({ run_id: "run_torn" });
  await call("ls");
  await runtime.close();
  const file = join(runtime.state_dir, "runs/run_torn/events.jsonl");
  await appendFile(file, '{"event_id":"evt_half');
  const verdict = await verifyAudit(file);
  expect(verdict).toMatchObject({ ok: true, records: 2, problems: [] });
  expect(verdict.notes?.[0]).toMatchObject({
    seq: 3,
    problem: expect.stringMatching(/incomplete \(21 bytes\)/) as string,
  });

  const { createRuntime } = await import("../runtime.ts");
  const again = await createRuntime({ roots: [join(path, "root")], run_id: "run_torn" });
  await again.call({ name: "ls", args: {} });
  const events = await Array.fromAsync(again.events());
  await again.close();
  expect(events.map((event) => event.type)).toEqual([
    "tool_call.started",
    "tool_call.completed",
    "display",
    "tool_call.started",
    "tool_call.completed",
  ]);
  expect(events[2]?.payload["content"]).toMatch(/21 bytes/);
  expect((await verifyAudit(file)).ok).toBe(true);
});
