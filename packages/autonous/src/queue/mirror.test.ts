import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { verifyAudit } from "@autonous/runtime";
import { makeId } from "@autonous/runtime/internal";
import type { EventDraft } from "@autonous/runtime/internal";
import { expect, onTestFinished, test } from "vitest";
import { openStore } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import { Mirror } from "./mirror.ts";

interface MirrorSetup {
  readonly store: Store;
  readonly lines: string[];
  /** A new mirror, as after a restart. */
  start(): Mirror;
  /** Records a task and returns its run id. */
  record(): Promise<string>;
  fileOf(run_id: string): string;
  /** The events of a run in the store and in its file. */
  compare(run_id: string): Promise<void>;
  passTime(): void;
  verify(): ReturnType<typeof verifyAudit>;
}

async function setUp(): Promise<MirrorSetup> {
  const folder = mkdtempSync(join(tmpdir(), "autonous-mirror-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [state_dir, heads] = [join(folder, "state"), join(folder, "heads")];
  const store = await openStore({ file: join(state_dir, "a.db"), clock: Date.now });
  onTestFinished(() => store.close());
  const lines: string[] = [];
  let now = 1_000_000;
  const fileOf = (run_id: string): string => join(state_dir, "runs", run_id, "events.jsonl");
  return {
    store,
    lines,
    start: () => new Mirror({ store, state_dir, heads, clock: () => now, log: (line) => lines.push(line) }),
    async record() {
      const { run_id } = await store.inbox.ingest({ source: "test", lane: "chat", text: "x" });
      return run_id;
    },
    fileOf,
    async compare(run_id) {
      const recorded = (await store.events.read({ run_id, limit: 1000 })).map(({ event }) => event);
      const written = readFileSync(fileOf(run_id), "utf8").trimEnd().split("\n");
      expect(written.map((line) => JSON.parse(line) as unknown)).toEqual(recorded);
    },
    passTime: () => void (now += 3_600_000),
    verify: () => verifyAudit(state_dir, { heads }),
  };
}

/** Another event for the run that is first in its lane. */
async function recordMore({ store }: MirrorSetup): Promise<void> {
  const [lease] = await store.inbox.claim("worker", 1);
  expect(lease).toBeDefined();
  if (lease !== undefined) await store.inbox.finish(lease, { outcome: "done", reply: "y" });
}

test("the files are updated from the table, also after a restart without a saved position", async () => {
  const setting = await setUp();
  const runs = [await setting.record(), await setting.record()];
  await setting.start().catchUp();
  for (const run_id of runs) await setting.compare(run_id);
  await recordMore(setting);
  await setting.start().catchUp(); // the first one had not saved its position
  for (const run_id of runs) await setting.compare(run_id);
  expect(setting.lines).toEqual([]);
  expect(await setting.verify()).toMatchObject({ ok: true });
});

test("only the partial copies of an interrupted call are removed, once the interruption is recorded", async () => {
  const { store, start, record, fileOf } = await setUp();
  const run_id = await record();
  const artifacts = join(fileOf(run_id), "../artifacts");
  mkdirSync(artifacts, { recursive: true });
  for (const name of [".call_1-0.part", ".call_1-1.part", ".call_2-0.part", "a58b-b.txt"])
    writeFileSync(join(artifacts, name), "half of a file");
  const end = (tool_call_id: string, code: string): EventDraft => ({
    event_id: makeId("evt", Date.now()),
    ts: new Date().toISOString(),
    type: "tool_call.failed",
    trace_id: "trace",
    task_id: null,
    parent_id: null,
    run_id,
    payload: { tool_call_id, tool_name: "attach", error: { code } },
  });
  await store.journal(run_id).append([end("call_1", "Interrupted"), end("call_2", "IOError")]);
  await start().catchUp();
  expect(readdirSync(artifacts).toSorted()).toEqual([".call_2-0.part", "a58b-b.txt"]);
});

test("a restart resumes at the saved position", async () => {
  const setting = await setUp();
  const run_id = await setting.record();
  const first = setting.start();
  await first.catchUp();
  await first.save();
  rmSync(setting.fileOf(run_id));
  await setting.start().catchUp();
  expect(existsSync(setting.fileOf(run_id))).toBe(false); // nothing new, so the file was not compared again
});

test("an incomplete last line after a crash is completed", async () => {
  const setting = await setUp();
  const run_id = await setting.record();
  await recordMore(setting);
  await setting.start().catchUp();
  const text = readFileSync(setting.fileOf(run_id), "utf8");
  truncateSync(setting.fileOf(run_id), text.length - 100);
  await setting.start().catchUp();
  await setting.compare(run_id);
  expect(await setting.verify()).toMatchObject({ ok: true });
});

test("a file that cannot be written delays no other, is reported once, and gets everything once it can be written", async () => {
  const setting = await setUp();
  const blocked = await setting.record();
  const file = setting.fileOf(blocked);
  mkdirSync(file, { recursive: true }); // a folder where the file should be
  const mirror = setting.start();
  await mirror.catchUp();
  await recordMore(setting);
  const other = await setting.record();
  for (let i = 0; i < 3; i++) {
    setting.passTime();
    await mirror.catchUp();
  }
  await setting.compare(other);
  expect(setting.lines).toEqual([
    `Cannot update the file of run ${blocked}: Cannot open "${file}": it is a folder, not a regular file. ` +
      `Nothing is lost; the service retries. Move "${file}" away and retry; it is created again where it is needed.`,
  ]);

  await mirror.save();
  const next = setting.start(); // a restart in between keeps the retry
  rmSync(file, { recursive: true });
  await next.catchUp();
  await setting.compare(blocked);
  expect(setting.lines.slice(1)).toEqual([`The file of run ${blocked} is up to date again`]);
  expect(await setting.verify()).toMatchObject({ ok: true });
});

test("a file that another process changed is reported and left alone until it is moved away", async () => {
  const setting = await setUp();
  const changed = await setting.record();
  const mirror = setting.start();
  await mirror.catchUp();
  const file = setting.fileOf(changed);
  const forged = readFileSync(file, "utf8").replace(/"hash":"[0-9a-f]{64}"/, `"hash":"${"0".repeat(64)}"`);
  writeFileSync(file, forged);
  await recordMore(setting);
  await mirror.catchUp();
  expect(setting.lines).toEqual([expect.stringContaining("it was changed")]);
  expect(readFileSync(file, "utf8")).toBe(forged);
  expect(await setting.verify()).toMatchObject({ ok: false });

  renameSync(file, `${file}.forged`);
  setting.passTime();
  await mirror.catchUp();
  await setting.compare(changed);
});

test("a file that another process appended to is reported and left alone", async () => {
  const setting = await setUp();
  const changed = await setting.record();
  const mirror = setting.start();
  await mirror.catchUp();
  appendFileSync(setting.fileOf(changed), "something else\n");
  await recordMore(setting);
  await mirror.catchUp();
  expect(setting.lines).toEqual([expect.stringContaining("is not a valid event")]);
});
