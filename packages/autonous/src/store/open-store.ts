import { dirname, join } from "node:path";
import type { Database } from "./sqlite/database.ts";
import { createApprovals } from "./queue/approval-table.ts";
import { createCalls } from "./record/call-table.ts";
import { createEvents } from "./record/event-table.ts";
import { TableJournal } from "./queue/table-journal.ts";
import { createHistory } from "./queue/history.ts";
import { createInbox } from "./queue/inbox.ts";
import { createRevisions } from "./queue/revisions.ts";
import { createMemory } from "./keepers/memory-table.ts";
import { keepCopy } from "./sqlite/keep-copy.ts";
import { migrate, MIGRATIONS } from "./sqlite/migrate.ts";
import type { Migration } from "./sqlite/migrate.ts";
import { createOutbox } from "./queue/outbox.ts";
import { createQuotas } from "./keepers/quotas.ts";
import { createRecordChecks } from "./record/record-checks.ts";
import { openSqlite } from "./sqlite/sqlite.ts";
import { isStateFolderLocked, lockHolder } from "./sqlite/state-lock.ts";
import { StoreError } from "./store-error.ts";
import type { Store, KeyValues } from "./store.ts";
import { createTasks } from "./queue/task-table.ts";
import { createUpkeep } from "./keepers/run-retention.ts";
import { appendServiceEvents } from "./record/service-chain.ts";

export interface OpenStoreOptions {
  /** The database file; it and its folder are created if missing. */
  readonly file: string;
  readonly clock: () => number;
  /** How long to wait for another writer, in milliseconds. Default: 5000. */
  readonly busyMs?: number;
  /**
   * Set by the service that has locked the state folder. `onCopy`: called with the copy made before a breaking
   * migration.
   */
  readonly service?: { readonly onCopy: (copy: string) => void };
}

/** The service's store in a state folder. */
export function databaseFile(state_dir: string): string {
  return join(state_dir, "autonous.db");
}

/** Opens the store on one file and brings its tables up to date. The caller closes it. */
export async function openStore({ file, clock, busyMs, service }: OpenStoreOptions): Promise<Store> {
  const database = await openSqlite(busyMs === undefined ? { file } : { file, busyMs });
  try {
    const beforeBreaking = async (migration: Migration): Promise<void> => {
      if (service === undefined) refuseUnderService(file, migration);
      const copy = await keepCopy(database, { version: migration.version, clock });
      service?.onCopy(copy);
    };
    await migrate(database, { migrations: MIGRATIONS, clock, beforeBreaking });
  } catch (error) {
    await database.close();
    throw error;
  }
  return storeOn(database, clock);
}

/** A running service of an older version would continue to use the old tables. */
function refuseUnderService(file: string, { version, name }: Migration): void {
  const state_dir = dirname(file);
  if (!isStateFolderLocked(state_dir)) return;
  const why = `"${file}" needs migration ${version} ("${name}"), but ${lockHolder(state_dir)} serves from it with an older version. Stop that service and start it with this version`;
  throw new StoreError("Busy", { doing: "migrate the database", why });
}

/** The store on a database whose tables are up to date. */
function storeOn(database: Database, clock: () => number): Store {
  return {
    inbox: createInbox(database, clock),
    revisions: createRevisions(database, clock),
    outbox: createOutbox(database, clock),
    tasks: createTasks(database, clock),
    events: createEvents(database),
    calls: createCalls(database),
    history: createHistory(database, clock),
    approvals: createApprovals(database, clock),
    quotas: createQuotas(database),
    memory: createMemory(database, clock),
    upkeep: createUpkeep(database, clock),
    checks: createRecordChecks(database),
    kv: createKeyValues(database, clock),
    journal: (run_id, lease) => new TableJournal(database, { run_id, lease, clock }),
    close: () => database.close(),
  };
}

const GET = "select value from kv where key = ?";
const SET = `insert into kv (key, value, updated_at) values (?, ?, ?)
  on conflict (key) do update set value = excluded.value, updated_at = excluded.updated_at`;

function createKeyValues(database: Database, clock: () => number): KeyValues {
  return {
    get: (key) =>
      database.read(`read "${key}"`, async (queries) => {
        const row = await queries.one<{ readonly value: string }>(GET, [key]);
        return row?.value;
      }),
    set: (key, value) =>
      database.transaction(`store "${key}"`, async (queries) => {
        await queries.run(SET, [key, value, clock()]);
      }),
    update: (key, change) =>
      database.transaction(`store "${key}"`, async (queries) => {
        const row = await queries.one<{ readonly value: string }>(GET, [key]);
        const { result, value, events = [] } = change(row?.value);
        if (value !== undefined) await queries.run(SET, [key, value, clock()]);
        await appendServiceEvents(queries, events, clock());
        return result;
      }),
  };
}
