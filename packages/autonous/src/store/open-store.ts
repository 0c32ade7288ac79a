import { join } from "node:path";
import type { Database } from "./database.ts";
import { createApprovals } from "./approvals.ts";
import { createCalls } from "./calls.ts";
import { createEvents, TableJournal } from "./events.ts";
import { createHistory } from "./history.ts";
import { createInbox } from "./inbox.ts";
import { createKeyValues } from "./kv.ts";
import { migrate, MIGRATIONS } from "./migrate.ts";
import { createOutbox } from "./outbox.ts";
import { createQuotas } from "./quotas.ts";
import { openSqlite } from "./sqlite.ts";
import type { Store } from "./store.ts";
import { createTasks } from "./tasks.ts";

export interface OpenStoreOptions {
  /** The database file; it and its folder are made when they are not there. */
  readonly file: string;
  readonly clock: () => number;
  /** How long to wait for another process that is writing. Default: 5000. */
  readonly busyMs?: number;
}

/** The service's store in a state folder. */
export function databaseFile(state_dir: string): string {
  return join(state_dir, "autonous.db");
}

/** Opens the store on one file and brings its tables up to date. The caller closes it. */
export async function openStore({ file, clock, busyMs }: OpenStoreOptions): Promise<Store> {
  const database = await openSqlite(busyMs === undefined ? { file } : { file, busyMs });
  try {
    await migrate(database, { migrations: MIGRATIONS, clock });
  } catch (error) {
    await database.close();
    throw error;
  }
  return storeOn(database, clock);
}

/** The store on a database whose tables are up to date. */
function storeOn(database: Database, clock: () => number): Store {
  return {
    inbox: createInbox(database, clock),
    outbox: createOutbox(database, clock),
    tasks: createTasks(database),
    events: createEvents(database),
    calls: createCalls(database),
    history: createHistory(database),
    approvals: createApprovals(database, clock),
    quotas: createQuotas(database),
    kv: createKeyValues(database, clock),
    journal: (run_id, lease) => new TableJournal(database, { run_id, lease, clock }),
    close: () => database.close(),
  };
}
