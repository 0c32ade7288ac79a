import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import type { Database, Queries } from "./database.ts";
import { openSqlite } from "./sqlite.ts";
import { StoreError } from "../store-error.ts";

function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sqlite-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

async function scratchDatabase(file = join(scratchFolder(), "a.db"), busyMs = 5000): Promise<Database> {
  const database = await openSqlite({ file, busyMs });
  onTestFinished(() => database.close());
  return database;
}

const MAKE = "create table if not exists things (name text primary key) strict";
const ADD = "insert into things (name) values (?)";
const NAMES = "select name from things order by name";

const make = (queries: Queries): Promise<void> => queries.script(MAKE);

async function namesIn(database: Database): Promise<string[]> {
  const rows = await database.read("read", (queries) => queries.all<{ name: string }>(NAMES));
  return rows.map(({ name }) => name);
}

test("only this user can read the file, its folder and SQLite's additional files", async () => {
  const folder = join(scratchFolder(), "one", "two");
  const database = await scratchDatabase(join(folder, "a.db"));
  await database.transaction("make", make);

  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(readdirSync(folder).toSorted()).toEqual(["a.db", "a.db-shm", "a.db-wal"]);
  for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777, name).toBe(0o600);
});

test("a commit is on disk when it returns, and foreign keys are enforced", async () => {
  const database = await scratchDatabase();
  const settings = await database.read("look", async (queries) => [
    await queries.one("pragma journal_mode"),
    await queries.one("pragma synchronous"),
    await queries.one("pragma foreign_keys"),
  ]);
  expect(settings).toEqual([{ journal_mode: "wal" }, { synchronous: 2 }, { foreign_keys: 1 }]);
});

test("a transaction that throws leaves nothing behind, and the next one runs", async () => {
  const database = await scratchDatabase();
  await database.transaction("make", make);
  const broken = database.transaction("add", async (queries) => {
    await queries.run(ADD, ["a"]);
    throw new Error("changed my mind");
  });
  const next = database.transaction("add", (queries) => queries.run(ADD, ["b"]));

  await expect(broken).rejects.toThrow("changed my mind");
  expect(await next).toBe(1);
  expect(await namesIn(database)).toEqual(["b"]);
});

test("no reader sees half of a transaction, not even on the same connection", async () => {
  const database = await scratchDatabase();
  await database.transaction("make", make);
  const writing = database.transaction("add", async (queries) => {
    await queries.run(ADD, ["a"]);
    await Promise.resolve();
    await queries.run(ADD, ["b"]);
  });
  const reading = namesIn(database);
  await writing;
  expect(await reading).toEqual([]);
  expect(await namesIn(database)).toEqual(["a", "b"]);
});

test("two connections of one process take turns instead of deadlocking", async () => {
  const file = join(scratchFolder(), "a.db");
  const one = await scratchDatabase(file);
  const other = await scratchDatabase(file);
  await one.transaction("make", make);
  const adding = Array.from({ length: 100 }, (_, i) =>
    (i % 2 === 0 ? one : other).transaction("add", async (queries) => {
      await queries.run(ADD, [`${i}`]);
      await Promise.resolve();
    }),
  );
  await Promise.all(adding);
  expect(await namesIn(await scratchDatabase(file))).toHaveLength(100);
});

test("other work of the process continues during consecutive transactions", async () => {
  const database = await scratchDatabase();
  const fired: string[] = [];
  setTimeout(() => fired.push("a timer"), 1);
  while (fired.length === 0) await database.read("look", (queries) => queries.one("select 1"));
});

test("an error that is a bug is thrown unchanged", async () => {
  const database = await scratchDatabase();
  const asked = database.transaction("ask", (queries) => queries.all("select nonsense"));
  await expect(asked).rejects.not.toBeInstanceOf(StoreError);
  await expect(asked).rejects.toThrow(/no such column/);
});

test("closing waits for pending work, and may be repeated", async () => {
  const file = join(scratchFolder(), "a.db");
  const database = await scratchDatabase(file);
  const made = database.transaction("make", make);
  const added = database.transaction("add", (queries) => queries.run(ADD, ["a"]));
  await database.close();
  await made;
  expect(await added).toBe(1);
  await database.close();
  expect(await namesIn(await scratchDatabase(file))).toEqual(["a"]);
});

// oxfmt-ignore
const BAD_PLACES = [
  { title: "a file instead of a folder",       at: "file/a.db",   code: "Unavailable", prepare: (folder: string) => writeFileSync(join(folder, "file"), "") },
  { title: "a folder instead of the file",       at: "folder",    code: "Unavailable", prepare: (folder: string) => mkdirSync(join(folder, "folder")) },
  { title: "a loop of links",                  at: "round/a.db",  code: "Unavailable", prepare: (folder: string) => symlinkSync("round", join(folder, "round")) },
  { title: "a name that is too long",         at: "x".repeat(300), code: "Unavailable", prepare: () => {} },
  { title: "a file that is not a database",    at: "garbage.db",  code: "Corrupt",     prepare: (folder: string) => writeFileSync(join(folder, "garbage.db"), "no database at all. ".repeat(500)) },
];

test.each(BAD_PLACES)("$title is reported with a helpful message", async ({ at, code, prepare }) => {
  const folder = scratchFolder();
  prepare(folder);
  const file = join(folder, at);
  const before = code === "Corrupt" ? readFileSync(file, "utf8") : "";

  const error = await openSqlite({ file }).catch((thrown: unknown) => thrown);

  expect(error).toBeInstanceOf(StoreError);
  expect(error).toMatchObject({ code, message: expect.stringMatching(/^Cannot open the database: .+; .+[^.]$/) });
  expect((error as Error).message).toContain(`"${file}"`);
  if (code === "Corrupt") expect(readFileSync(file, "utf8")).toBe(before);
});

test("a damaged database is reported when the damage is found", async () => {
  const file = join(scratchFolder(), "a.db");
  const database = await openSqlite({ file });
  await database.transaction("make", make);
  await database.transaction("add", async (queries) => {
    for (let i = 0; i < 5000; i++) await queries.run(ADD, [`a name of some length, number ${i}`]);
  });
  await database.close();
  const bytes = readFileSync(file);
  writeFileSync(file, Buffer.concat([bytes.subarray(0, 4096), Buffer.alloc(bytes.length - 4096, 0x5a)]));

  const again = await scratchDatabase(file);
  await expect(namesIn(again)).rejects.toMatchObject({ code: "Corrupt" });
});

test("a full disk is reported, nothing is stored partially, and work continues when space is free", async () => {
  const database = await scratchDatabase();
  await database.transaction("make", make);
  const pages =
    (await database.read("count", (queries) => queries.one<{ page_count: number }>("pragma page_count")))?.page_count ??
    0;
  await database.transaction("limit", (queries) => queries.one(`pragma max_page_count = ${pages + 2}`));

  const full = database.transaction("add much", async (queries) => {
    for (let i = 0; i < 100; i++) await queries.run(ADD, [`${i} ${"x".repeat(1000)}`]);
  });

  await expect(full).rejects.toMatchObject({
    code: "Full",
    message: expect.stringMatching(/^Cannot add much: no space left for ".+"/),
  });
  expect(await namesIn(database)).toEqual([]);
  await database.transaction("lift the limit", (queries) => queries.one("pragma max_page_count = 1000000"));
  await database.transaction("add", (queries) => queries.run(ADD, ["a"]));
  expect(await namesIn(database)).toEqual(["a"]);
});

test("a read-only database is reported, and can still be read", async () => {
  const database = await scratchDatabase();
  await database.transaction("make", make);
  await database.transaction("close it to writers", (queries) => queries.one("pragma query_only = on"));
  const adding = database.transaction("add", (queries) => queries.run(ADD, ["a"]));
  await expect(adding).rejects.toMatchObject({ code: "ReadOnly", message: expect.stringMatching(/^Cannot add: /) });
  expect(await namesIn(database)).toEqual([]);
});

test("a new file releases its free space step by step", async () => {
  const database = await scratchDatabase();
  const INCREMENTAL = 2;
  expect(await database.read("look", (queries) => queries.one("pragma auto_vacuum"))).toEqual({
    auto_vacuum: INCREMENTAL,
  });
});

test("opening an existing file writes nothing to it", async () => {
  const file = join(scratchFolder(), "a.db");
  const database = await scratchDatabase(file);
  await database.transaction("make", make);
  const other = new DatabaseSync(file);
  onTestFinished(() => other.close());
  const version = (): unknown => other.prepare("pragma data_version").get();
  const before = version();

  await scratchDatabase(file);

  expect(version()).toEqual(before);
});

test("a file can be opened and read while another process writes to it", async () => {
  const file = join(scratchFolder(), "a.db");
  const database = await scratchDatabase(file);
  await database.transaction("make", make);
  const other = new DatabaseSync(file);
  onTestFinished(() => other.close());
  other.exec("begin immediate");

  expect(await namesIn(await scratchDatabase(file, 0))).toEqual([]);
});

test("a lock that is released in time is waited for", async () => {
  const file = join(scratchFolder(), "a.db");
  const database = await scratchDatabase(file);
  await database.transaction("make", make);
  const other = new DatabaseSync(file);
  other.exec("begin immediate");

  const adding = database.transaction("add", (queries) => queries.run(ADD, ["a"]));
  setImmediate(() => other.exec("commit"));

  expect(await adding).toBe(1);
  other.close();
});

test("a lock that is not released is reported after the timeout, and reading continues meanwhile", async () => {
  const file = join(scratchFolder(), "a.db");
  const database = await scratchDatabase(file, 50);
  await database.transaction("make", make);
  const other = new DatabaseSync(file);
  other.exec("begin immediate");

  const adding = database.transaction("add", (queries) => queries.run(ADD, ["a"]));

  await expect(adding).rejects.toMatchObject({
    code: "Busy",
    message: expect.stringMatching(/^Cannot add: another process keeps ".+" locked/),
  });
  expect(await namesIn(database)).toEqual([]);
  other.exec("rollback");
  other.close();
  expect(await database.transaction("add", (queries) => queries.run(ADD, ["a"]))).toBe(1);
});

test("a file that cannot grow further (a disk quota) is reported, and stored data is intact", async () => {
  const file = join(scratchFolder(), "a.db");
  const script = `
    import { openSqlite } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, "sqlite.ts")).href)};
    process.on("SIGXFSZ", () => {});
    const database = await openSqlite({ file: ${JSON.stringify(file)} });
    await database.transaction("make", (queries) => queries.script(${JSON.stringify(MAKE)}));
    for (let i = 0; ; i++) {
      try {
        await database.transaction("add", (queries) => queries.run(${JSON.stringify(ADD)}, [String(i) + "x".repeat(2000)]));
      } catch (error) {
        console.log(JSON.stringify({ stored: i, code: error.code, message: error.message }));
        break;
      }
    }`;
  const command = 'ulimit -f 256; exec "$0" --input-type=module-typescript --eval "$1"';
  const child = spawn("bash", ["-c", command, process.execPath, script], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.on("data", (data: Buffer) => (output += data.toString()));
  await once(child, "close");

  const told = JSON.parse(output) as { stored: number; code: string; message: string };
  expect(told).toMatchObject({ code: "Unavailable", message: expect.stringMatching(/^Cannot add: /) });
  expect(told.stored).toBeGreaterThan(0);
  expect(await namesIn(await scratchDatabase(file))).toHaveLength(told.stored);
});

test("concurrent writers share a commit, and one that throws rolls back only its own changes", async () => {
  const database = await scratchDatabase();
  await database.transaction("make", make);
  const commits = async (): Promise<number> => {
    // Read by another connection: the value changes with every commit of the others.
    const row = await watcher.read("look", (queries) => queries.one<{ data_version: number }>("pragma data_version"));
    return row?.data_version ?? 0;
  };
  const watcher = await scratchDatabase(database.name);
  const before = await commits();

  const all = Array.from({ length: 20 }, (_, i) =>
    database.transaction(`add ${i}`, async (queries) => {
      await queries.run(ADD, [`a${i}`]);
      await queries.run(ADD, [`b${i}`]);
      if (i % 5 === 3) throw new Error(`not ${i}`);
      return i;
    }),
  );
  const told = await Promise.allSettled(all);

  expect(told.map((each) => (each.status === "fulfilled" ? each.value : (each.reason as Error).message))).toEqual(
    Array.from({ length: 20 }, (_, i) => (i % 5 === 3 ? `not ${i}` : i)),
  );
  expect(await namesIn(database)).toHaveLength(32);
  expect((await commits()) - before).toBe(1);
});

test("the first writer of a shared commit can throw too", async () => {
  const database = await scratchDatabase();
  await database.transaction("make", make);
  const first = database.transaction("add", async (queries) => {
    await queries.run(ADD, ["a"]);
    throw new Error("not me");
  });
  const others = ["b", "c"].map((name) => database.transaction("add", (queries) => queries.run(ADD, [name])));
  await expect(first).rejects.toThrow("not me");
  expect(await Promise.all(others)).toEqual([1, 1]);
  expect(await namesIn(database)).toEqual(["b", "c"]);
});

test("if a shared commit fails, each writer gets its own error, and nothing is stored", async () => {
  const database = await scratchDatabase();
  await database.transaction("make", (queries) =>
    queries.script(
      `${MAKE}; create table parts (name text references things (name) deferrable initially deferred) strict`,
    ),
  );
  const one = database.transaction("add one", (queries) => queries.run(ADD, ["a"]));
  const other = database.transaction("add a part", (queries) => queries.run("insert into parts values ('nothing')"));
  const told = await Promise.allSettled([one, other]);
  expect(told.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await namesIn(database)).toEqual([]);
  expect(await database.transaction("add", (queries) => queries.run(ADD, ["b"]))).toBe(1);
});

test("readers see a write after its commit, and not before", async () => {
  const database = await scratchDatabase();
  await database.transaction("make", make);
  for (let i = 0; i < 50; i++) {
    const early = namesIn(database);
    await database.transaction("add", (queries) => queries.run(ADD, [`${i}`.padStart(2, "0")]));
    expect(await namesIn(database)).toHaveLength(i + 1);
    expect((await early).length).toBeLessThanOrEqual(i + 1);
  }
});

test("four processes that write constantly see no lock errors, and none starves", async () => {
  const file = join(scratchFolder(), "a.db");
  const database = await scratchDatabase(file);
  await database.transaction("make", make);
  const script = `
    import { openSqlite } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, "sqlite.ts")).href)};
    const database = await openSqlite({ file: ${JSON.stringify(file)} });
    const end = Date.now() + 2500;
    let count = 0, longest = 0;
    async function write(name) {
      while (Date.now() < end) {
        const start = performance.now();
        await database.transaction("add", (queries) => queries.run(${JSON.stringify(ADD)}, [name + count++]));
        longest = Math.max(longest, performance.now() - start);
      }
    }
    await Promise.all(Array.from({ length: 10 }, (_, i) => write(process.pid + " " + i + " ")));
    await database.close();
    console.log(JSON.stringify({ count, longest }));`;
  const told = await Promise.all(
    [1, 2, 3, 4].map(async () => {
      const child = spawn(process.execPath, ["--input-type=module-typescript", "--eval", script], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      let output = "";
      child.stdout.on("data", (data: Buffer) => (output += data.toString()));
      await once(child, "close");
      return JSON.parse(output) as { count: number; longest: number };
    }),
  );

  const total = told.reduce((sum, { count }) => sum + count, 0);
  expect(await namesIn(database)).toHaveLength(total);
  const least = Math.min(...told.map(({ count }) => count));
  expect(least, JSON.stringify(told)).toBeGreaterThan(total / 4 / 10);
});
