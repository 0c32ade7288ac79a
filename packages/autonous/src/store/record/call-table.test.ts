import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { makeId } from "@autonous/runtime/internal";
import type { ToolCallResult } from "@autonous/runtime";
import type { EventDraft, EventType } from "@autonous/runtime/internal";
import { expect, onTestFinished, test } from "vitest";
import { migrate, MIGRATIONS } from "../sqlite/migrate.ts";
import { openStore } from "../open-store.ts";
import { openSqlite } from "../sqlite/sqlite.ts";
import type { Lease, Store } from "../store.ts";

const NOW = Date.UTC(2030, 0, 1);

interface CallRow {
  readonly id: string;
  readonly tool_name: string;
  readonly arguments_json: string | null;
  readonly status: string;
  readonly output_text: string | null;
  readonly error: string | null;
  readonly started_at: number | null;
}

function scratchFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "calls-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "autonous.db");
}

/** A store with one claimed task, and the table as other programs read it. */
async function taken(): Promise<{ store: Store; lease: Lease; rows: () => readonly CallRow[]; append: Append }> {
  const file = scratchFile();
  const store = await openStore({ file, clock: () => NOW });
  const database = new DatabaseSync(file, { readOnly: true });
  onTestFinished(async () => {
    database.close();
    await store.close();
  });
  await store.inbox.ingest({ source: "http", lane: "chat", text: "x" });
  const [lease] = await store.inbox.claim("w", 1);
  if (lease === undefined) throw new Error("nothing was claimed");
  const { run_id, task_id, trace_id } = lease.task;
  const select = database.prepare("select * from tool_calls where run_id = ? order by id");
  const append: Append = async (type, payload, result) => {
    const about = { event_id: makeId("evt", NOW), ts: new Date(NOW).toISOString(), trace_id, task_id, run_id };
    const draft: EventDraft = { ...about, parent_id: null, type, payload };
    await store.journal(run_id, lease).append([draft], result === undefined ? {} : { result });
  };
  return { store, lease, append, rows: () => select.all(run_id) as unknown as readonly CallRow[] };
}

type Append = (type: EventType, payload: Record<string, unknown>, result?: ToolCallResult) => Promise<void>;

const ASKED = {
  kind: "tool_calls",
  calls: [
    { tool_call_id: "call_1", name: "run_terminal_cmd", arguments: { cmd: "ls" } },
    { tool_call_id: "call_2", name: "write", arguments: { path: "a", content: "x".repeat(100_000) } },
    { tool_call_id: "call_3", name: "read" },
  ],
};

function resultOf(
  tool_call_id: string,
  payload: Partial<NonNullable<ToolCallResult["payload"]>> | null,
): ToolCallResult {
  const whole = {
    stdout: "",
    stderr: "",
    exit_code: 0,
    data: null,
    truncated_lines: false,
    truncated_bytes: false,
    meta: {},
  };
  return {
    tool_call_id,
    ok: payload !== null,
    payload: payload === null ? null : { ...whole, ...payload },
    error: null,
    artifacts: { files_changed: [], commands_run: [] },
    duration_ms: 1,
    redacted: false,
  };
}

test("requested calls are queued until they start", async () => {
  const { append, rows, store, lease } = await taken();
  await append("model.completed", ASKED);
  expect(rows()).toMatchObject([
    { id: "call_1", tool_name: "run_terminal_cmd", arguments_json: '{"cmd":"ls"}', status: "queued", started_at: null },
    { id: "call_2", tool_name: "write", arguments_json: null, status: "queued" },
    { id: "call_3", tool_name: "read", arguments_json: "null", status: "queued" },
  ]);
  const journal = store.journal(lease.task.run_id, lease);
  expect(await journal.callState?.("call_1")).toBeUndefined();
  expect(await store.calls.result({ run_id: lease.task.run_id, tool_call_id: "call_1" })).toBeUndefined();

  await append("tool_call.started", { tool_call_id: "call_1", tool_name: "bash", arguments: { cmd: "ls -a" } });
  expect(rows()[0]).toMatchObject({
    tool_name: "bash",
    arguments_json: '{"cmd":"ls -a"}',
    status: "running",
    started_at: NOW,
  });
  expect(await journal.callState?.("call_1")).toBe("open");
});

test("a call that is refused while it is queued has arguments, start and end", async () => {
  const { append, rows } = await taken();
  await append("model.completed", ASKED);
  const audit = { params: { path: "a" }, ts_start: new Date(NOW - 5).toISOString() };
  await append("tool_call.failed", { tool_call_id: "call_2", tool_name: "write", error: "Denied", audit });
  expect(rows()[1]).toMatchObject({
    status: "failed",
    arguments_json: '{"path":"a"}',
    error: "Denied",
    started_at: NOW - 5,
  });
});

test("an ended task leaves no call queued; started calls stay, and a retry may start the others", async () => {
  const { append, rows, store, lease } = await taken();
  await append("model.completed", ASKED);
  await append("tool_call.started", { tool_call_id: "call_1", tool_name: "bash", arguments: {} });
  await store.inbox.finish(lease, { outcome: "failed", error: "gave up" });
  expect(rows()).toMatchObject([{ id: "call_1", status: "failed" }]);
  await store.tasks.retry(lease.task.task_id, "ada");
  const [again] = await store.inbox.claim("w", 1);
  const journal = store.journal(lease.task.run_id, again);
  expect(await journal.callState?.("call_2")).toBeUndefined();
});

// oxfmt-ignore
const TEXTS = [
  { title: "stdout",           payload: { stdout: "one\ntwo\n" },               text: "one\ntwo\n" },
  { title: "stderr",           payload: { stderr: "oh" },                       text: "oh" },
  { title: "both",             payload: { stdout: "one", stderr: "oh" },        text: "one\noh" },
  { title: "nothing printed",  payload: {},                                     text: "" },
  { title: "odd characters",   payload: { stdout: "a\u0000b'\"\u202e😀" },      text: "a\u0000b'\"\u202e😀" },
  { title: "a call not run",   payload: null,                                   text: null },
];

test.each(TEXTS)("output_text has the text of a result: $title", async ({ payload, text }) => {
  const { append, rows, store, lease } = await taken();
  const result = resultOf("call_1", payload);
  await append("tool_call.started", { tool_call_id: "call_1", tool_name: "bash", arguments: {} });
  await append("tool_call.completed", { tool_call_id: "call_1", tool_name: "bash" }, result);
  expect(rows()[0]?.output_text).toBe(text);
  expect(await store.calls.result({ run_id: lease.task.run_id, tool_call_id: "call_1" })).toEqual(result);
});

test("results of an older database are migrated to the new column, with their texts", async () => {
  const file = scratchFile();
  const old = await openSqlite({ file });
  await migrate(old, { migrations: MIGRATIONS.slice(0, 5), clock: () => NOW });
  const rows = TEXTS.map(({ payload }, index) => ({
    id: `call_${index}`,
    output: JSON.stringify(resultOf(`call_${index}`, payload)),
  }));
  await old.transaction("fill", async (queries) => {
    const insert =
      "insert into tool_calls (run_id, id, tool_name, status, output_text) values ('run_1', ?, 'bash', 'done', ?)";
    for (const { id, output } of [...rows, { id: "damaged", output: "nonsense" }, { id: "none", output: null }])
      await queries.run(insert, [id, output]);
    await queries.script(`insert into lanes (lane) values ('a');
      insert into inbox (task_id, run_id, trace_id, source, lane, text, state, run_at, created_at) values ('t', 'r', 't', 's', 'a', 'x', 'queued', 1, 1)`);
  });
  await old.close();

  const copies: string[] = [];
  const store = await openStore({ file, clock: () => NOW, service: { onCopy: (copy) => copies.push(copy) } });
  onTestFinished(() => store.close());
  expect(copies).toEqual([expect.stringContaining(".before-6-")]);
  const database = new DatabaseSync(file, { readOnly: true });
  onTestFinished(() => database.close());
  const stored = database.prepare("select id, output_text from tool_calls order by rowid").all();
  expect(stored.map((row) => row["output_text"])).toEqual([...TEXTS.map(({ text }) => text), null, null]);
  for (const { id, output } of rows)
    expect(JSON.stringify(await store.calls.result({ run_id: "run_1", tool_call_id: id }))).toBe(output);
  expect(await store.calls.result({ run_id: "run_1", tool_call_id: "damaged" })).toBeUndefined();
  expect((await store.tasks.get("t"))?.task.retries).toBe(0);
});
