import { DatabaseSync } from "node:sqlite";
import { cpSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { verifyAudit } from "@autonous/runtime";
import { makeId, makeTraceId } from "@autonous/runtime/internal";
import type { ToolCallResult } from "@autonous/runtime";
import { expect, onTestFinished, test } from "vitest";
import { scratchFolder } from "../../../../test/support/scratch.ts";
import { Mirror } from "../queue/mirror.ts";
import { databaseFile, openStore } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import { verifyState } from "./verify-state.ts";

interface Place {
  readonly state_dir: string;
  readonly heads: string;
  readonly task_id: string;
  readonly run_id: string;
  readonly store: Store;
  /** Runs SQL on the file, as another process could. */
  sql(text: string): void;
  verify(): Promise<readonly string[]>;
}

/** A completed task with one call, mirrored to its file. */
async function served(): Promise<Place> {
  const { path } = await scratchFolder();
  const state_dir = join(path, "state");
  const heads = join(path, "heads");
  const store = await openStore({ file: databaseFile(state_dir), clock: Date.now });
  onTestFinished(() => store.close());
  const { task_id, run_id } = await store.inbox.ingest({ source: "http", lane: "chat_1", text: "hello", user: "anna" });
  const [lease] = await store.inbox.claim("worker_1", 1);
  await recordCall(store, { task_id, run_id });
  await store.inbox.finish(lease!, { outcome: "done", reply: "done" });
  for (const { id } of await store.outbox.pending({ limit: 10 })) await store.outbox.markSent(id, "1");
  const mirror = new Mirror({ store, state_dir, heads, clock: Date.now, log: (line) => expect.fail(line) });
  await mirror.catchUp();
  return {
    state_dir,
    heads,
    task_id,
    run_id,
    store,
    sql(text) {
      const other = new DatabaseSync(databaseFile(state_dir));
      other.exec(`pragma foreign_keys = off; ${text}`);
      other.close();
    },
    async verify() {
      const { problems } = await verifyState({ state_dir, heads, store });
      return problems.map(({ problem }) => problem);
    },
  };
}

async function recordCall(store: Store, { task_id, run_id }: Pick<Place, "task_id" | "run_id">): Promise<void> {
  const about = { ts: new Date().toISOString(), trace_id: makeTraceId(), task_id, run_id, parent_id: null };
  const call = { tool_call_id: "call_1", tool_name: "ls" };
  const journal = store.journal(run_id);
  const event = (type: "tool_call.started" | "tool_call.completed", payload: object) => ({
    ...about,
    event_id: makeId("evt", Date.now()),
    type,
    payload: { ...call, ...payload },
  });
  await journal.append([event("tool_call.started", { arguments: {} })]);
  const result: ToolCallResult = {
    tool_call_id: "call_1",
    ok: true,
    payload: null,
    error: null,
    artifacts: { files_changed: [], commands_run: [] },
    duration_ms: 1,
    redacted: false,
  };
  const { createHash } = await import("node:crypto");
  const result_sha256 = createHash("sha256").update(JSON.stringify(result)).digest("hex");
  const audit = { tool_call_id: "call_1", hashes: { result_sha256 } };
  await journal.append([event("tool_call.completed", { audit })], { result });
}

test("a store and its mirrored files verify without problems", async () => {
  expect(await (await served()).verify()).toEqual([]);
});

const TABLES = ["outbox", "history", "task_audit", "tool_calls", "events", "inbox"];

// oxfmt-ignore
const TAMPERING: readonly { readonly title: string; readonly sql: string; readonly says: RegExp }[] = [
  { title: "a task that was removed from every table", sql: TABLES.map((table) => `delete from ${table}`).join("; "),  says: /the run is missing in the store/ },
  { title: "a task that was removed from the inbox",   sql: "delete from inbox",                                        says: /not in the inbox/ },
  { title: "events that were removed",                 sql: "delete from events",                                       says: /no event of it|tail was cut/ },
  { title: "a reply that was removed",                 sql: "delete from outbox",                                       says: /the outbox does not have it/ },
  { title: "a reply that was never sent",              sql: "insert into outbox (task_id, channel, chat, body, dedupe, created_at, sent_at) select task_id, 'http', 'chat_1', 'x', 'x', 1, 1 from inbox", says: /sent, but the audit log does not/ },
  { title: "a call that was removed",                  sql: "delete from tool_calls",                                   says: /not in the table of calls|does not match the audit log/ },
  { title: "a result that was changed",                sql: "update tool_calls set result_json = '{}'",                 says: /stored result of call "call_1"/ },
  { title: "a result that was removed",                sql: "update tool_calls set result_json = null",                 says: /stored result of call "call_1"/ },
  { title: "a result whose text was changed",          sql: "update tool_calls set output_text = 'all is well'",        says: /stored result of call "call_1"/ },
  { title: "a completed task marked as failed",          sql: "update inbox set state = 'failed'",                        says: /the audit log says that the task is done/ },
  { title: "a row that is not JSON",                   sql: "update events set payload = 'nonsense' where seq = 2",     says: /row 2 of the table "events" is not valid JSON/ },
  { title: "a row that is not a JSON object",          sql: "update events set payload = '7' where seq = 2",            says: /row 2 of the table "events" is not valid JSON/ },
  { title: "a changed row",                            sql: "update events set ts = '2020-01-01T00:00:00.000Z' where seq = 2", says: /content was changed/ },
];

for (const { title, sql, says } of TAMPERING) {
  test(`${title} is found`, async () => {
    const place = await served();
    place.sql(sql);
    const problems = await place.verify();
    expect(problems.join("\n")).toMatch(says);
  });
}

/** A second task, of another chat, with its own events. */
async function another(store: Store): Promise<{ task_id: string; run_id: string }> {
  const other = await store.inbox.ingest({ source: "http", lane: "chat_2", text: "hello again" });
  const [lease] = await store.inbox.claim("worker_1", 1);
  await recordCall(store, other);
  await store.inbox.finish(lease!, { outcome: "done", reply: "done" });
  return other;
}

// oxfmt-ignore
const NO_EVENTS = ["nonsense", "", "7", "null", '"text"', '{"cut":', "\\u0000"];

for (const payload of NO_EVENTS) {
  test(`a row that holds ${JSON.stringify(payload)} does not affect the files of other runs`, async () => {
    const place = await served();
    const { store, run_id } = place;
    await recordCall(store, { task_id: place.task_id, run_id }).catch(() => undefined); // its id is taken: this only adds a start
    const other = await another(store);
    place.sql(`update events set payload = '${payload}' where run_id = '${run_id}' and seq = 4`);
    await store.kv.set("mirror", JSON.stringify({ position: 0, behind: [] }));
    rmSync(join(place.state_dir, "runs", run_id), { recursive: true });
    const lines: string[] = [];
    const mirror = new Mirror({ ...place, clock: Date.now, log: (line) => lines.push(line) });
    await mirror.catchUp();
    await mirror.catchUp();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain(run_id);
    expect(lines[0]).toMatch(/row 4 of the table "events" is not valid JSON; run "autonous audit verify"/);
    expect(await verifyAudit(join(place.state_dir, "runs", other.run_id), place)).toMatchObject({ ok: true });
    const { problems } = await verifyState({ ...place });
    expect(problems.filter((each) => each.run_id === other.run_id)).toEqual([]);
    expect(problems.map(({ problem }) => problem).join("\n")).toMatch(/row 4 of the table "events" is not valid JSON/);
    const file = readFileSync(join(place.state_dir, "runs", run_id, "events.jsonl"), "utf8");
    expect(file.trimEnd().split("\n"), "what comes before it is there").toHaveLength(3);
  });
}

// oxfmt-ignore
const NO_STATE = ["nonsense", "", "null", "[]", '{"position":-1,"behind":[]}', '{"position":"7","behind":[]}', '{"position":1}', '{"position":1,"behind":[7]}'];

test("a mirror with an invalid position compares all files again, and logs that", async () => {
  for (const note of NO_STATE) {
    const place = await served();
    await place.store.kv.set("mirror", note);
    rmSync(join(place.state_dir, "runs", place.run_id), { recursive: true });
    const lines: string[] = [];
    const mirror = new Mirror({ ...place, clock: Date.now, log: (line) => lines.push(line) });
    await mirror.catchUp();
    expect({ note, lines }).toEqual({
      note,
      lines: [expect.stringMatching(/^Invalid "mirror" entry in the table "kv"/)],
    });
    expect(await place.verify()).toEqual([]);
  }
});

test("invalid rows of a run in other tables are reported, and grant nothing", async () => {
  const place = await served();
  const { store, run_id } = place;
  const insert = `insert into grants (grant_id, scope, run_id, session, grant_json)`;
  place.sql(`${insert} values ('g1', 'run', '${run_id}', '', 'nonsense'), ('g2', 'run', '${run_id}', '', '[]')`);
  const approval = `insert into approvals (approval_id, run_id, tool_call_id, digest, state, request_json, answer_json, expires_at)`;
  place.sql(
    `${approval} values ('a1', '${run_id}', 'c1', 'd1', 'granted', 'nonsense', '{', 1), ('a2', '${run_id}', 'c2', 'd1', 'granted', '{}', '{', 1)`,
  );
  place.sql("update tool_calls set result_json = 'nonsense'");
  expect(await store.approvals.grants()).toEqual([]);
  expect(await store.approvals.list()).toEqual([]);
  expect(await store.approvals.findGranted("d1")).toBeUndefined();
  await expect(store.approvals.get("a1")).rejects.toThrow(
    /row "a1" of the table "approvals" is not valid; run "autonous/,
  );
  expect(await store.calls.result({ run_id, tool_call_id: "call_1" })).toBeUndefined();
  const problems = (await place.verify()).join("\n");
  expect(problems).toMatch(/an approval of this run is not valid JSON/);
  expect(problems).toMatch(/a grant of this run is not valid JSON/);
  expect(problems).toMatch(/the stored result of a call of this run is not valid JSON/);
});

test("an unreadable outbox entry is replaced by a notice, and the entries behind it are sent", async () => {
  const place = await served();
  const columns = "(task_id, channel, chat, kind, body, dedupe, created_at)";
  const rows = ["file", "approval"].map(
    (kind) => `('${place.task_id}', 'http', 'chat_1', '${kind}', 'nonsense', '${kind}', 1)`,
  );
  place.sql(`insert into outbox ${columns} values ${rows.join(", ")}`);
  const pending = await place.store.outbox.pending({ limit: 10 });
  expect(pending.map(({ content }) => content)).toEqual([
    { kind: "text", text: expect.stringMatching(/^A file of this task cannot be sent/) as string },
    { kind: "text", text: expect.stringMatching(/^A question of this task cannot be shown/) as string },
  ]);
  for (const { id } of pending) await place.store.outbox.markSent(id, "1");
  expect((await place.verify()).join("\n")).toMatch(/the outbox has an entry of this task that is not valid JSON/);
});

test("rows appended by another process are found, and are not mirrored to the files", async () => {
  const place = await served();
  const { chainEvents } = await import("@autonous/runtime/internal");
  const [last] = await place.store.events.last({ run_id: place.run_id, limit: 1 });
  const { seq: _seq, hash: _hash, prev_hash: _prev, mac: _mac, ...draft } = last!.event;
  const [forged] = chainEvents([{ ...draft, event_id: "evt_forged" }], last!.event);
  const { event_id, run_id, seq, ts, type, trace_id, task_id, prev_hash, hash, payload } = forged!.event;
  place.sql(
    `insert into events (event_id, run_id, seq, ts, type, trace_id, task_id, payload, prev_hash, hash) values ('${[event_id, run_id, seq, ts, type, trace_id, task_id, JSON.stringify(payload), prev_hash, hash].join("','")}')`,
  );
  expect((await place.verify()).join("\n")).toMatch(/past the head/);
  const lines: string[] = [];
  const mirror = new Mirror({ ...place, clock: Date.now, log: (line) => lines.push(line) });
  await mirror.catchUp();
  expect(lines.join("\n")).toMatch(/was not written by this user/);
  expect((await place.verify()).join("\n")).toMatch(/past the head/);
});

test("a file that was removed is written again from the store", async () => {
  const place = await served();
  rmSync(join(place.state_dir, "runs", place.run_id), { recursive: true });
  expect((await place.verify()).join("\n")).toMatch(/record of this run is missing/);
  await place.store.kv.set("mirror", JSON.stringify({ position: 0, behind: [] }));
  const mirror = new Mirror({ ...place, clock: Date.now, log: (line) => expect.fail(line) });
  await mirror.catchUp();
  expect(await verifyAudit(place.state_dir, place)).toMatchObject({ ok: true });
});

test("a call that was open when its task ended is ended as Interrupted", async () => {
  const { path } = await scratchFolder();
  const store = await openStore({ file: databaseFile(path), clock: Date.now });
  onTestFinished(() => store.close());
  const { task_id, run_id } = await store.inbox.ingest({ source: "http", lane: "chat_1", text: "hello" });
  const [lease] = await store.inbox.claim("worker_1", 1);
  const about = { ts: new Date().toISOString(), trace_id: makeTraceId(), task_id, run_id, parent_id: null };
  const payload = { tool_call_id: "call_1", tool_name: "bash", arguments: { cmd: "make" } };
  const start = () => ({ ...about, event_id: makeId("evt", Date.now()), type: "tool_call.started", payload }) as const;
  await store.journal(run_id).append([start()]);
  await store.inbox.finish(lease!, { outcome: "dead", error: "the worker was lost too often" });
  const ends = (await store.events.read({ run_id, limit: 100 })).map(({ event }) => event);
  expect(ends.find(({ type }) => type === "tool_call.failed")?.payload).toMatchObject({
    tool_call_id: "call_1",
    error: { code: "Interrupted" },
    audit: { tool: "bash", result: { error_code: "Interrupted" } },
  });
  expect(await store.journal(run_id).callState?.("call_1")).toBe("ended");
  await store.tasks.retry(task_id, "anna");
  await expect(store.journal(run_id).append([start()]), "not even where a person has it tried again").rejects.toThrow(
    /that call of this run has ended/,
  );
});

for (const lose of ["delete", "replace"] as const) {
  test(`a database that another process ${lose}s while it is open accepts no more writes`, async () => {
    const { path } = await scratchFolder();
    const file = databaseFile(path);
    const store = await openStore({ file, clock: Date.now });
    onTestFinished(() => store.close());
    await store.inbox.ingest({ source: "http", lane: "chat_1", text: "hello" });
    if (lose === "replace") cpSync(file, `${file}.copy`);
    rmSync(file);
    if (lose === "replace") renameSync(`${file}.copy`, file);
    await expect(store.inbox.ingest({ source: "http", lane: "chat_1", text: "again" })).rejects.toThrow(
      /deleted, moved or replaced/,
    );
  });
}
