import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { Database } from "./database.ts";
import { migrate, MIGRATIONS } from "./migrate.ts";
import type { Migration } from "./migrate.ts";
import { openSqlite } from "./sqlite.ts";

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
  const sql = "select name from sqlite_schema where type = 'table' and name not like 'sqlite_%' order by name";
  const rows = await database.read("look", (queries) => queries.all<{ name: string }>(sql));
  return rows.map(({ name }) => name);
}

test("the tables of the specification are there after the first start", async () => {
  const database = await open(scratchFile());
  await migrate(database, { migrations: MIGRATIONS, clock });
  // oxfmt-ignore
  expect(await tablesOf(database)).toEqual([
    "approvals", "events", "grants", "history", "inbox", "kv", "lanes", "memory", "migrations", "outbox", "quota_use", "task_audit", "tool_calls", "workers",
  ]);
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

test("a step that was taken is not taken again, and a new one is", async () => {
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

test("several that start at the same time take each step once", async () => {
  const file = scratchFile();
  const databases = await Promise.all(Array.from({ length: 5 }, () => open(file)));
  await Promise.all(databases.map((database) => migrate(database, { migrations: [ONE, TWO], clock })));
  for (const database of databases) {
    expect(await database.read("look", (queries) => queries.all("select a from one"))).toHaveLength(1);
  }
});

test("a step that another process took in the meantime is not taken again", async () => {
  const file = scratchFile();
  const [database, other] = [await open(file), await open(file)];
  let others = 1;
  const interrupted: Database = {
    name: database.name,
    read: (doing, work) => database.read(doing, work),
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

test("a step that fails leaves nothing of itself, and keeps what came before it", async () => {
  const database = await open(scratchFile());
  const broken = { ...TWO, sql: `${TWO.sql} insert into nowhere values (1);` };
  await expect(migrate(database, { migrations: [ONE, broken], clock })).rejects.toThrow(/nowhere/);
  expect(await tablesOf(database)).toEqual(["migrations", "one"]);
  await migrate(database, { migrations: [ONE, TWO], clock });
  expect(await tablesOf(database)).toEqual(["migrations", "one", "two"]);
});

// oxfmt-ignore
const REFUSED = [
  { title: "a database of a newer version",            known: [ONE],                            code: "NewerSchema", says: /has migration 2 \("two"\), and this version knows 1/ },
  { title: "a step that was taken with another text",  known: [ONE, { ...TWO, sql: "select 1" }], code: "Corrupt",   says: /migration 2 \("two"\) applied with another text/ },
];

test.each(REFUSED)("$title is refused and left as it is", async ({ known, code, says }) => {
  const database = await open(scratchFile());
  await migrate(database, { migrations: [ONE, TWO], clock });
  const refused = migrate(database, { migrations: known, clock });
  await expect(refused).rejects.toMatchObject({ name: "StoreError", code, message: expect.stringMatching(says) });
  await expect(refused).rejects.toThrow(database.name);
  expect(await tablesOf(database)).toEqual(["migrations", "one", "two"]);
});
