import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Database } from "./database.ts";
import { keepCopy } from "./keep-copy.ts";
import { findPending, migrate, MIGRATIONS } from "./migrate.ts";
import type { Migration } from "./migrate.ts";
import { openStore } from "../open-store.ts";
import { openSqlite } from "./sqlite.ts";
import { lockStateFolder } from "./state-lock.ts";

const clock = (): number => 1000;
const ONE: Migration = {
  version: 1,
  name: "one",
  sql: "create table one (a text) strict; insert into one values ('kept');",
};
const TWO: Migration = { version: 2, name: "two", sql: "create table two (b text) strict;" };

function scratchFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "migrate-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "a.db");
}

async function open(file: string): Promise<Database> {
  const database = await openSqlite({ file });
  onTestFinished(() => database.close());
  return database;
}

async function tablesOf(database: Database): Promise<string[]> {
  const sql =
    "select name from pragma_table_list where schema = 'main' and type = 'table' and name not like 'sqlite_%' order by name";
  const rows = await database.read("look", (queries) => queries.all<{ name: string }>(sql));
  return rows.map(({ name }) => name);
}

test("the tables of the specification exist after the first start", async () => {
  const database = await open(scratchFile());
  await migrate(database, { migrations: MIGRATIONS, clock });
  // oxfmt-ignore
  expect(await tablesOf(database)).toEqual([
    "approvals", "conversations", "events", "forgotten_runs", "grants", "history", "inbox", "inbox_parts", "kv", "lanes", "memory", "migrations", "outbox", "quota_use", "task_audit", "tool_calls", "workers",
  ]);
});

// oxfmt-ignore
const READ_BY_OTHERS = [
  { table: "tool_calls", columns: ["id", "task_id", "tool_name", "arguments_json", "status", "output_text", "error", "started_at", "finished_at"] },
  { table: "task_audit", columns: ["task_id", "phase", "message", "created_at"] },
] as const;

test.each(READ_BY_OTHERS)("$table has the columns that other programs read", async ({ table, columns }) => {
  const database = await open(scratchFile());
  await migrate(database, { migrations: MIGRATIONS, clock });
  const there = await database.read("look", (queries) =>
    queries.all<{ name: string }>(`select name from pragma_table_info('${table}')`),
  );
  expect(there.map(({ name }) => name)).toEqual(expect.arrayContaining([...columns]));
});

test("migrations are numbered from 1 without gaps", () => {
  expect(MIGRATIONS.map(({ version }) => version)).toEqual(MIGRATIONS.map((_, index) => index + 1));
});

test("every table is strict: a value of the wrong type is refused", async () => {
  const database = await open(scratchFile());
  await migrate(database, { migrations: MIGRATIONS, clock });
  const sql =
    "select name from pragma_table_list where schema = 'main' and type = 'table' and strict = 0 and name not like 'sqlite_%'";
  expect(await database.read("look", (queries) => queries.all(sql))).toEqual([]);
});

test("an applied migration is not applied again, and a new one is", async () => {
  const database = await open(scratchFile());
  await migrate(database, { migrations: [ONE], clock });
  await migrate(database, { migrations: [ONE], clock });
  await migrate(database, { migrations: [ONE, TWO], clock });

  expect(await tablesOf(database)).toEqual(["migrations", "one", "two"]);
  const taken = await database.read("look", (queries) =>
    queries.all("select version, name, applied_at from migrations"),
  );
  expect(taken).toEqual([
    { version: 1, name: "one", applied_at: 1000 },
    { version: 2, name: "two", applied_at: 1000 },
  ]);
  expect(await database.read("look", (queries) => queries.all("select a from one"))).toEqual([{ a: "kept" }]);
});

test("several processes that start at the same time apply each migration once", async () => {
  const file = scratchFile();
  const databases = await Promise.all(Array.from({ length: 5 }, () => open(file)));
  await Promise.all(databases.map((database) => migrate(database, { migrations: [ONE, TWO], clock })));
  for (const database of databases) {
    expect(await database.read("look", (queries) => queries.all("select a from one"))).toHaveLength(1);
  }
});

test("a migration that another process applied meanwhile is not applied again", async () => {
  const file = scratchFile();
  const [database, other] = [await open(file), await open(file)];
  let others = 1;
  const interrupted: Database = {
    name: database.name,
    read: (doing, work) => database.read(doing, work),
    copyTo: (copy) => database.copyTo(copy),
    usedBytes: () => database.usedBytes(),
    shrink: () => database.shrink(),
    close: () => database.close(),
    transaction: async (doing, work) => {
      const result = await database.transaction(doing, work);
      if (others-- > 0) await migrate(other, { migrations: [ONE, TWO], clock });
      return result;
    },
  };
  await migrate(interrupted, { migrations: [ONE, TWO], clock });
  expect(await database.read("look", (queries) => queries.all("select a from one"))).toHaveLength(1);
});

test("a failed migration is rolled back, and earlier ones are kept", async () => {
  const database = await open(scratchFile());
  const broken = { ...TWO, sql: `${TWO.sql} insert into nowhere values (1);` };
  await expect(migrate(database, { migrations: [ONE, broken], clock })).rejects.toThrow(/nowhere/);
  expect(await tablesOf(database)).toEqual(["migrations", "one"]);
  await migrate(database, { migrations: [ONE, TWO], clock });
  expect(await tablesOf(database)).toEqual(["migrations", "one", "two"]);
});

// oxfmt-ignore
const REFUSED = [
  { title: "a database of a newer version",            known: [ONE],                            code: "NewerSchema", says: /has migration 2 \("two"\), but this version knows only 1/ },
  { title: "a migration with a different text",         known: [ONE, { ...TWO, sql: "select 1" }], code: "Corrupt",   says: /migration 2 \("two"\) of ".+" was applied with a different text/ },
];

test.each(REFUSED)("$title is refused and left unchanged", async ({ known, code, says }) => {
  const database = await open(scratchFile());
  await migrate(database, { migrations: [ONE, TWO], clock });
  const refused = migrate(database, { migrations: known, clock });
  await expect(refused).rejects.toMatchObject({ name: "StoreError", code, message: expect.stringMatching(says) });
  await expect(refused).rejects.toThrow(database.name);
  expect(await tablesOf(database)).toEqual(["migrations", "one", "two"]);
});

const BREAKING: Migration = { version: 2, name: "other", sql: "alter table one rename to other;", breaking: true };

/** Migrates a database as a store does, and returns the names of the copies. */
async function migrateKeeping(database: Database, migrations: readonly Migration[]): Promise<readonly string[]> {
  const beforeBreaking = async ({ version }: Migration): Promise<void> =>
    void (await keepCopy(database, { version, clock }));
  await migrate(database, { migrations, clock, beforeBreaking });
  return copiesOf(database.name);
}

function copiesOf(file: string): readonly string[] {
  return readdirSync(dirname(file)).filter((name) => name.includes(".before-"));
}

test("before a breaking migration a complete copy is made, and the version that wrote it can use the copy", async () => {
  const database = await open(scratchFile());
  await migrate(database, { migrations: [ONE], clock });
  const kept = await migrateKeeping(database, [ONE, BREAKING]);
  expect(kept).toEqual(["a.db.before-2-1970-01-01T00-00-01.000Z"]);
  expect(await tablesOf(database)).toEqual(["migrations", "other"]);

  const copy = join(dirname(database.name), kept[0] ?? "");
  expect(statSync(copy).mode & 0o777).toBe(0o600);
  const old = await open(copy);
  await migrate(old, { migrations: [ONE], clock });
  expect(await old.read("look", (queries) => queries.all("select a from one"))).toEqual([{ a: "kept" }]);
  await expect(migrate(database, { migrations: [ONE], clock })).rejects.toMatchObject({ code: "NewerSchema" });
});

const EMPTY: Migration = { version: 1, name: "one", sql: "create table one (a text) strict;" };
// oxfmt-ignore
const NOT_KEPT = [
  { title: "of a new database",                    before: [],      migrations: [ONE, BREAKING] },
  { title: "of a database without data",           before: [EMPTY], migrations: [EMPTY, BREAKING] },
  { title: "before a compatible migration",         before: [ONE],   migrations: [ONE, TWO] },
  { title: "without pending migrations",            before: [ONE, BREAKING], migrations: [ONE, BREAKING] },
];

test.each(NOT_KEPT)("no copy is made $title", async ({ before, migrations }) => {
  const database = await open(scratchFile());
  await migrate(database, { migrations: before, clock });
  expect(await migrateKeeping(database, migrations)).toEqual([]);
});

test("if the copy cannot be made, nothing is changed", async () => {
  const database = await open(scratchFile());
  await migrate(database, { migrations: [ONE], clock });
  const beforeBreaking = (): Promise<void> => Promise.reject(new Error("no room"));
  await expect(migrate(database, { migrations: [ONE, BREAKING], clock, beforeBreaking })).rejects.toThrow("no room");
  expect(await tablesOf(database)).toEqual(["migrations", "one"]);
  expect((await findPending(database, [ONE, BREAKING])).pending).toEqual([BREAKING]);
});

test("a partial copy of a killed process is removed, one of a running process is not", async () => {
  const database = await open(scratchFile());
  await migrate(database, { migrations: [ONE], clock });
  const gone = spawn(process.execPath, ["--eval", ""]);
  await once(gone, "exit");
  for (const pid of [gone.pid, process.ppid]) writeFileSync(`${database.name}.before-2-x.${pid}.new`, "half");
  const kept = await migrateKeeping(database, [ONE, BREAKING]);
  expect(kept).toEqual(["a.db.before-2-1970-01-01T00-00-01.000Z", `a.db.before-2-x.${process.ppid}.new`]);
});

test("several processes that start at the same time apply a breaking migration once, and each copy is complete", async () => {
  const file = scratchFile();
  const databases = await Promise.all(Array.from({ length: 4 }, () => open(file)));
  await migrate(databases[0] ?? (await open(file)), { migrations: [ONE], clock });
  let now = 0;
  await Promise.all(
    databases.map((database) =>
      migrate(database, {
        migrations: [ONE, BREAKING],
        clock,
        beforeBreaking: async ({ version }) => void (await keepCopy(database, { version, clock: () => ++now })),
      }),
    ),
  );
  for (const name of copiesOf(file)) {
    const copy = await open(join(dirname(file), name));
    expect(await copy.read("look", (queries) => queries.all("select a from one"))).toEqual([{ a: "kept" }]);
  }
});

test("a process that is killed during a migration leaves the database unchanged, and the next one applies it", async () => {
  const file = scratchFile();
  const first = await open(file);
  await migrate(first, { migrations: [ONE], clock });
  const slow: Migration = {
    version: 2,
    name: "slow",
    sql: `create table many (n integer, t text) strict;
      insert into many with recursive c(n) as (select 1 union all select n + 1 from c where n < 3000000)
        select n, 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' from c;
      drop table one;`,
  };
  const script = `
    import { migrate } from ${JSON.stringify(join(import.meta.dirname, "migrate.ts"))};
    import { openSqlite } from ${JSON.stringify(join(import.meta.dirname, "sqlite.ts"))};
    const database = await openSqlite({ file: ${JSON.stringify(file)} });
    await migrate(database, { migrations: ${JSON.stringify([ONE, slow])}, clock: () => 1000 });`;
  const words = ["--conditions=@autonous/source", "--input-type=module-typescript", "--eval", script];
  const child = spawn(process.execPath, words, { stdio: "inherit" });
  while (sizeOf(`${file}-wal`) < 4 << 20 && child.exitCode === null) await new Promise(setImmediate);
  child.kill("SIGKILL");
  expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);

  const database = await open(file);
  expect(await tablesOf(database)).toEqual(["migrations", "one"]);
  expect(await database.read("look", (queries) => queries.all("pragma quick_check"))).toEqual([{ quick_check: "ok" }]);
  await migrate(database, { migrations: [ONE, { ...slow, sql: slow.sql.replace("3000000", "10") }], clock });
  expect(await tablesOf(database)).toEqual(["many", "migrations"]);
});

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

test("while a service of an older version runs, no other process applies a breaking migration", async () => {
  const file = join(dirname(scratchFile()), "autonous.db");
  const old = await open(file);
  await migrate(old, { migrations: MIGRATIONS.slice(0, 2), clock });
  await old.transaction("write", (queries) => queries.run("insert into kv values ('a', 'b', 1)"));
  const unlock = lockStateFolder(dirname(file));
  const refused = openStore({ file, clock });
  await expect(refused).rejects.toMatchObject({ code: "Busy" });
  await expect(refused).rejects.toThrow(
    /needs migration 3 .*the process \d+ serves from it with an older version\. Stop that/,
  );
  expect(copiesOf(file)).toEqual([]);

  const copies: string[] = [];
  const service = await openStore({ file, clock, service: { onCopy: (copy) => copies.push(copy) } }); // its own restart
  await service.close();
  expect(copies).toEqual([expect.stringContaining(".before-3-")]);
  const another = await openStore({ file, clock });
  expect(await another.kv.get("a")).toBe("b");
  await another.close();
  unlock?.();
});

test("the tasks of an older database are found by their chats", async () => {
  const file = scratchFile();
  const before = await open(file);
  await migrate(before, { migrations: MIGRATIONS.slice(0, 2), clock });
  await before.transaction("fill", (queries) =>
    queries.script(`insert into lanes (lane) values ('a'), ('b'), ('empty');
      insert into inbox (task_id, run_id, trace_id, source, lane, text, state, run_at, created_at, finished_at)
        values ('t1', 'r1', 't', 's', 'a', 'one', 'done', 1, 1, 1), ('t2', 'r2', 't', 's', 'b', 'two', 'done', 1, 1, 1),
          ('t3', 'r3', 't', 's', 'a', 'three', 'done', 1, 1, 1), ('t4', 'r4', 't', 's', 'a', 'four', 'queued', 1, 1, null);
      insert into history (lane, task_id, role, text, created_at) values ('a', 't1', 'user', 'one', 1), ('b', 't2', 'user', 'two', 1),
        ('a', 't3', 'user', 'three', 1), ('a', 't3', 'assistant', '3', 1)`),
  );
  await before.close();

  const store = await openStore({ file, clock });
  onTestFinished(() => store.close());
  const textsOf = async (lane: string): Promise<string[]> =>
    (await store.tasks.list({ lane, limit: 9 })).tasks.map(({ text }) => text);
  expect(await textsOf("a")).toEqual(["four", "three", "one"]);
  expect(await textsOf("b")).toEqual(["two"]);
  expect(await textsOf("empty")).toEqual([]);
  expect((await store.history.before("t4", 9)).map(({ text }) => text)).toEqual(["one", "three", "3"]);
  await store.inbox.ingest({ source: "test", lane: "a", text: "five" });
  await store.inbox.ingest({ source: "test", lane: "empty", text: "six" });
  expect(await textsOf("a")).toEqual(["five", "four", "three", "one"]);
  expect(await textsOf("empty")).toEqual(["six"]);
});

test("unsent messages and the ids of sent ones survive the migration of an older database", async () => {
  const file = scratchFile();
  const before = await open(file);
  await migrate(before, { migrations: MIGRATIONS.slice(0, 4), clock });
  await before.transaction("fill", (queries) =>
    queries.script(`insert into lanes (lane) values ('a');
      insert into inbox (task_id, run_id, trace_id, source, lane, text, state, run_at, created_at, finished_at)
        values ('t1', 'r1', 't', 's', 'a', 'one', 'done', 1, 1, 1);
      insert into outbox (task_id, channel, chat, body, dedupe, created_at, kind, attempts, error)
        values ('t1', 's', 'a', 'x', 'd1', 1, 'text', 2, 'no network'), ('t1', 's', 'a', '{}', 'd2', 1, 'file', 0, null);
      delete from outbox where dedupe = 'd2'`),
  );
  await before.close();

  const store = await openStore({ file, clock });
  onTestFinished(() => store.close());
  expect(await store.outbox.pending({ limit: 9 })).toMatchObject([
    { id: 1, attempts: 2, content: { kind: "text", text: "x" } },
  ]);
  await store.inbox.ingest({ source: "s", lane: "a", text: "two" });
  const [lease] = await store.inbox.claim("w", 1);
  if (lease !== undefined) await store.inbox.finish(lease, { outcome: "done", reply: "y" });
  expect((await store.outbox.pending({ limit: 9 })).map(({ id }) => id)).toEqual([1, 3]);
});
