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
  /** Older versions cannot use the database afterwards. A copy is made first, so that the user can downgrade. */
  readonly breaking?: true;
}

/** In order, without gaps. A released migration is never changed: add another one to fix it. */
export const MIGRATIONS: readonly Migration[] = [
  { version: 1, name: "tables", sql: TABLES },
  { version: 2, name: "approvals", sql: APPROVALS },
  { version: 3, name: "service", sql: SERVICE, breaking: true },
  // An older version would read the events without their MAC, and report every hash as wrong.
  { version: 4, name: "record", sql: RECORD_TABLES, breaking: true },
  // An older version cannot send messages of the kind "display".
  { version: 5, name: "display", sql: DISPLAY, breaking: true },
  // An older version would read results from a column that now contains only their text.
  { version: 6, name: "calls", sql: CALLS, breaking: true },
  // An older version would run a task without the skill that restricts it.
  { version: 7, name: "skill", sql: SKILL, breaking: true },
  { version: 8, name: "origin", sql: ORIGIN },
  // An older version would run a task without the files that came with it.
  { version: 9, name: "files", sql: FILES, breaking: true },
  // An older version would send the text of an undo request to the model.
  { version: 10, name: "talk", sql: TALK, breaking: true },
];

const CREATE = `create table if not exists migrations (
  version integer primary key, name text not null, checksum text not null, applied_at integer not null) strict`;
/** Without the shadow tables of virtual tables. */
const TABLE_NAMES = `select name from pragma_table_list
  where schema = 'main' and type = 'table' and name not like 'sqlite_%' order by name`;
const APPLIED = "select version, name, checksum from migrations order by version";
const RECORD = "insert into migrations (version, name, checksum, applied_at) values (?, ?, ?, ?)";

interface AppliedMigration {
  readonly version: number;
  readonly name: string;
  readonly checksum: string;
}

export interface MigrateOptions {
  readonly migrations: readonly Migration[];
  readonly clock: () => number;
  /** Called before a breaking migration of a database with data. If it throws, nothing is changed. */
  readonly beforeBreaking?: (migration: Migration) => Promise<void>;
}

export interface PendingMigrations {
  readonly pending: readonly Migration[];
  /** Whether any table has rows. */
  readonly hasData: boolean;
}

/** What `migrate` would do. Changes nothing; throws if `migrate` would refuse the database. */
export async function findPending(database: Database, migrations: readonly Migration[]): Promise<PendingMigrations> {
  return await database.read("inspect the database", async (queries) => {
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

/** Applies pending migrations, each in its own transaction. Several processes may do this at the same time. */
export async function migrate(database: Database, options: MigrateOptions): Promise<void> {
  const { migrations, clock, beforeBreaking } = options;
  const doing = "migrate the database";
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
      // Checked again under the lock: another process may have been first, perhaps one of a newer version.
      if (isAmong(await readApplied(queries, database.name, migrations), migration)) return;
      await queries.script(migration.sql);
      await queries.run(RECORD, [migration.version, migration.name, checksumOf(migration), clock()]);
    });
  }
}

function isAmong(applied: readonly AppliedMigration[], migration: Migration): boolean {
  return applied.some(({ version }) => version === migration.version);
}

async function readApplied(
  queries: Queries,
  name: string,
  known: readonly Migration[],
): Promise<readonly AppliedMigration[]> {
  const applied = await queries.all<AppliedMigration>(APPLIED);
  for (const found of applied) refuseForeign(found, name, known);
  return applied;
}

function refuseForeign(found: AppliedMigration, name: string, known: readonly Migration[]): void {
  const doing = "use the database";
  const migration = known.find(({ version }) => version === found.version);
  if (migration === undefined) {
    const why = `"${name}" has migration ${found.version} ("${found.name}"), but this version knows only ${known.length}`;
    throw new StoreError("NewerSchema", { doing, why });
  }
  if (checksumOf(migration) !== found.checksum) {
    const why = `migration ${found.version} ("${found.name}") of "${name}" was applied with a different text`;
    throw new StoreError("Corrupt", { doing, why });
  }
}

function checksumOf({ sql }: Migration): string {
  return hash("sha256", sql, "hex");
}
