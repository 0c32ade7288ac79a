import { hash } from "node:crypto";
import type { Database, Queries } from "./database.ts";
import { TABLES } from "./migrations/0001-tables.ts";
import { APPROVALS } from "./migrations/0002-approvals.ts";
import { SERVICE } from "./migrations/0003-service.ts";
import { RECORD as RECORD_TABLES } from "./migrations/0004-record.ts";
import { DISPLAY } from "./migrations/0005-display.ts";
import { CALLS } from "./migrations/0006-calls.ts";
import { SKILL } from "./migrations/0007-skill.ts";
import { ORIGIN } from "./migrations/0008-origin.ts";
import { FILES } from "./migrations/0009-files.ts";
import { TALK } from "./migrations/0010-talk.ts";
import { StoreError } from "../store-error.ts";

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  /** What an older version does not know how to use. A copy of what was there is kept, for whoever wants to go back. */
  readonly breaking?: true;
}

/** In order, without gaps. One that was released is never changed: the next one mends it. */
export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: "tables", sql: TABLES },
  { version: 2, name: "approvals", sql: APPROVALS },
  { version: 3, name: "service", sql: SERVICE, breaking: true },
  // An older version would read the events without their mac, and take every hash for a wrong one.
  { version: 4, name: "record", sql: RECORD_TABLES, breaking: true },
  // An older version does not know how to send what was shown.
  { version: 5, name: "display", sql: DISPLAY, breaking: true },
  // An older version would look for results where only their text is.
  { version: 6, name: "calls", sql: CALLS, breaking: true },
  // An older version would do a task without the restriction that it was given with.
  { version: 7, name: "skill", sql: SKILL, breaking: true },
  { version: 8, name: "origin", sql: ORIGIN },
  // An older version would do a task without the files that came with it.
  { version: 9, name: "files", sql: FILES, breaking: true },
  // An older version would give the words of an undo to the model.
  { version: 10, name: "talk", sql: TALK, breaking: true },
];

const CREATE = `create table if not exists migrations (
  version integer primary key, name text not null, checksum text not null, applied_at integer not null) strict`;
/** Those of a virtual table count with it. */
const TABLE_NAMES = `select name from pragma_table_list
  where schema = 'main' and type = 'table' and name not like 'sqlite_%' order by name`;
const APPLIED = "select version, name, checksum from migrations order by version";
const RECORD = "insert into migrations (version, name, checksum, applied_at) values (?, ?, ?, ?)";

interface Applied {
  readonly version: number;
  readonly name: string;
  readonly checksum: string;
}

export interface MigrateOptions {
  readonly migrations: readonly Migration[];
  readonly clock: () => number;
  /** Asked before anything is changed, where a breaking step is to come and there is data. What it throws stops all. */
  readonly beforeBreaking?: (migration: Migration) => Promise<void>;
}

export interface PendingMigrations {
  readonly pending: readonly Migration[];
  /** Somebody's rows are in it. */
  readonly hasData: boolean;
}

/** What `migrate` would do. Changes nothing; throws what `migrate` would refuse. */
export async function findPending(database: Database, migrations: readonly Migration[]): Promise<PendingMigrations> {
  return await database.read("look at the database", async (queries) => {
    const tables = (await queries.all<{ readonly name: string }>(TABLE_NAMES)).map(({ name }) => name);
    if (!tables.includes("migrations")) return { pending: migrations, hasData: tables.length > 0 };
    const applied = await readApplied(queries, database.name, migrations);
    return {
      pending: migrations.filter((migration) => !isAmong(applied, migration)),
      hasData: await hasRows(queries, tables),
    };
  });
}

async function hasRows(queries: Queries, tables: readonly string[]): Promise<boolean> {
  for (const name of tables) {
    if (name === "migrations") continue;
    if ((await queries.one(`select 1 from "${name}" limit 1`)) !== undefined) return true;
  }
  return false;
}

/** Brings the tables up to date, each step in a transaction of its own. Several processes may do so at the same time. */
export async function migrate(database: Database, options: MigrateOptions): Promise<void> {
  const { migrations, clock, beforeBreaking } = options;
  const doing = "bring the database up to date";
  const { pending, hasData } = await findPending(database, migrations);
  if (pending.length === 0) return;
  const breaking = pending.find((migration) => migration.breaking === true);
  if (breaking !== undefined && hasData) await beforeBreaking?.(breaking);
  const before = await database.transaction(doing, async (queries) => {
    await queries.script(CREATE);
    return await readApplied(queries, database.name, migrations);
  });
  for (const migration of migrations) {
    if (isAmong(before, migration)) continue;
    await database.transaction(doing, async (queries) => {
      // Asked again under the lock: another process may have come first, perhaps one of a newer version.
      if (isAmong(await readApplied(queries, database.name, migrations), migration)) return;
      await queries.script(migration.sql);
      await queries.run(RECORD, [migration.version, migration.name, checksumOf(migration), clock()]);
    });
  }
}

function isAmong(applied: readonly Applied[], migration: Migration): boolean {
  return applied.some(({ version }) => version === migration.version);
}

async function readApplied(queries: Queries, name: string, known: readonly Migration[]): Promise<readonly Applied[]> {
  const applied = await queries.all<Applied>(APPLIED);
  for (const found of applied) refuseForeign(found, name, known);
  return applied;
}

function refuseForeign(found: Applied, name: string, known: readonly Migration[]): void {
  const doing = "use the database";
  const migration = known.find(({ version }) => version === found.version);
  if (migration === undefined) {
    const why = `"${name}" has migration ${found.version} ("${found.name}"), and this version knows ${known.length}`;
    throw new StoreError("NewerSchema", { doing, why });
  }
  if (checksumOf(migration) !== found.checksum) {
    const why = `"${name}" had migration ${found.version} ("${found.name}") applied with another text than the known one`;
    throw new StoreError("Corrupt", { doing, why });
  }
}

function checksumOf({ sql }: Migration): string {
  return hash("sha256", sql, "hex");
}
