import { appendFile, copyFile, cp, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { scratch } from "../../../../test/support/scratch.ts";
import { verifyAudit } from "./verify.ts";

/** A run of five calls: ten events. */
async function recordedRun(): Promise<{ file: string; folder: string; state: string }> {
  const { call, runtime, make } = await scratch();
  await make({ "root/a.txt": "a" });
  for (let i = 0; i < 5; i++) await call("ls", { path: "." });
  await runtime.close();
  const folder = join(runtime.state_dir, "runs", runtime.run_id);
  return { file: join(folder, "events.jsonl"), folder, state: runtime.state_dir };
}

async function changeLines(file: string, change: (lines: string[]) => string[]): Promise<void> {
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  await writeFile(file, `${change(lines).join("\n")}\n`);
}

test("a record that nobody touched is whole, as a file, a run and a state folder", async () => {
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
  { title: "a line of nonsense",     change: (lines: string[]) => [...lines, "nonsense"],                                                                    seq: 11, says: /no event/ },
  { title: "everything gone",        change: () => [],                                                                                                      seq: 1,  says: /no event|tail was cut/ },
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

test("a record rewritten from the first to the last line is found by the head that was kept", async () => {
  const { file } = await recordedRun();
  const other = await recordedRun();
  await copyFile(other.file, file);
  const text = await readFile(file, "utf8");
  const first = JSON.parse(text.split("\n")[0]!) as { run_id: string };
  expect((await verifyAudit(file)).ok, "another run's whole record is whole").toBe(true);
  await rm(other.folder, { recursive: true });
  expect((await verifyAudit(other.state)).problems).toEqual([
    expect.objectContaining({ run_id: first.run_id, problem: expect.stringContaining("gone") as string }),
  ]);
});

test("a state folder that was put back to how it was before is found", async () => {
  const { call, runtime, path } = await scratch();
  await call("ls");
  await cp(runtime.state_dir, join(path, "old"), { recursive: true });
  await call("ls");
  await runtime.close();
  await rm(runtime.state_dir, { recursive: true });
  await cp(join(path, "old"), runtime.state_dir, { recursive: true });
  expect((await verifyAudit(runtime.state_dir)).problems[0]?.problem).toMatch(/ends at 2, but it went on to 4/);
});

test("a state folder that is gone altogether is found, by another way of writing its path too", async () => {
  const { state } = await recordedRun();
  await rm(state, { recursive: true });
  for (const path of [state, `${state}/`, join(state, "..", basename(state))]) {
    expect((await verifyAudit(path)).problems).toEqual([
      expect.objectContaining({ seq: 0, problem: expect.stringMatching(/gone/) as string }),
    ]);
  }
  expect(await verifyAudit(join(state, "never"))).toEqual({ ok: true, records: 0, problems: [] });
});

test("a torn last line is told as such, and the next start of the run repairs and says it", async () => {
  const { call, runtime, path } = await scratch({ run_id: "run_torn" });
  await call("ls");
  await runtime.close();
  const file = join(runtime.state_dir, "runs/run_torn/events.jsonl");
  await appendFile(file, '{"event_id":"evt_half');
  expect((await verifyAudit(file)).problems[0]?.problem).toMatch(/torn \(21 bytes\)/);

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
