import { DatabaseSync } from "node:sqlite";
import { LINK_LANES } from "../packages/autonous/src/store/sqlite/migrations/0003-service.ts";

/** Rows of one task at a time would take minutes: they are copies of one that was done, made where they lie. */
const A_BATCH = 20_000;

interface Copied {
  readonly table: string;
  /** Which rows are the task's. */
  readonly of: "task_id" | "run_id";
  /** What is another value in every copy; `n` is its number. */
  readonly changed: Readonly<Record<string, string>>;
}

/** Ids sort before those of today, as ids of older tasks do. */
const TASK_ID = "printf('task_00%024d', n.n)";
const RUN_ID = "printf('run_00%024d', n.n)";

// oxfmt-ignore
const COPIES: readonly Copied[] = [
  { table: "inbox",      of: "task_id", changed: { task_id: TASK_ID, run_id: RUN_ID, lane: "printf('chat %d', n.n % :lanes)" } },
  { table: "events",     of: "run_id",  changed: { task_id: TASK_ID, run_id: RUN_ID, event_id: "printf('evt_00%020d_%d', n.n, seq)" } },
  { table: "history",    of: "task_id", changed: { task_id: TASK_ID, lane: "printf('chat %d', n.n % :lanes)" } },
  { table: "task_audit", of: "task_id", changed: { task_id: TASK_ID } },
  { table: "outbox",     of: "task_id", changed: { task_id: TASK_ID, chat: "printf('chat %d', n.n % :lanes)", dedupe: "printf('%d', n.n)" } },
];

export interface FillOptions {
  /** The task that all are copies of. It is over, and its reply is out. */
  readonly task_id: string;
  readonly run_id: string;
  /** Numbered on from here, so that a file can be filled further. */
  readonly from: number;
  readonly to: number;
  readonly lanes: number;
}

/** Writes finished tasks into a store file that no other process has open. */
export function fillQueue(file: string, { task_id, run_id, from, to, lanes }: FillOptions): void {
  const database = new DatabaseSync(file);
  try {
    database.exec("pragma synchronous = off; pragma cache_size = -200000; pragma foreign_keys = off");
    const statements = COPIES.map((copied) => database.prepare(copyOf(database, copied)));
    for (let first = from; first < to; first += A_BATCH) {
      const last = Math.min(first + A_BATCH, to) - 1;
      database.exec("begin");
      for (const [index, { of, changed }] of COPIES.entries()) {
        const usesLanes = Object.values(changed).some((value) => value.includes(":lanes"));
        const id = of === "task_id" ? task_id : run_id;
        statements[index]?.run({ first, last, id, ...(usesLanes ? { lanes } : {}) });
      }
      database.exec("commit");
    }
    database.exec(LINK_LANES);
    database.exec("pragma wal_checkpoint(truncate)");
  } finally {
    database.close();
  }
}

function copyOf(database: DatabaseSync, { table, of, changed }: Copied): string {
  const rows = database.prepare(`select name, pk from pragma_table_info('${table}')`).all();
  const names = rows.filter(({ pk }) => pk === 0).map(({ name }) => String(name)); // each of these numbers its own rows
  const values = names.map((name) => changed[name] ?? `${table}."${name}"`);
  return `with recursive n (n) as (select :first union all select n + 1 from n where n < :last)
    insert into ${table} (${names.map((name) => `"${name}"`).join(", ")})
    select ${values.join(", ")} from n cross join ${table} where ${table}.${of} = :id`;
}
