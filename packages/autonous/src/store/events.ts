import { ToolError } from "@autonous/runtime";
import type { AppendOptions, EventDraft, Journal, RuntimeEvent, StartCommit } from "@autonous/runtime";
import { appendEvents } from "./append-events.ts";
import { useApproval } from "./approvals.ts";
import { findAudits } from "./audits.ts";
import type { Database, Queries, SqlValue } from "./database.ts";
import { requireLease } from "./lanes.ts";
import { charge } from "./quotas.ts";
import type { EventFilter, Events, LeaseKey, RecordedEvent } from "./store.ts";

const COLUMNS = "position, event_id, seq, ts, type, trace_id, task_id, run_id, parent_id, payload, prev_hash, hash";
const OF_RUN_AFTER_SEQ = `select ${COLUMNS} from events where run_id = ? and seq > ? order by seq limit ?`;

// oxfmt-ignore
const AFTER = {
  all:  `select ${COLUMNS} from events where position > ? order by position limit ?`,
  run:  `select ${COLUMNS} from events where run_id = ? and position > ? order by seq limit ?`,
  task: `select ${COLUMNS} from events where task_id = ? and position > ? order by position limit ?`,
};

// oxfmt-ignore
const NEWEST = {
  all:  `select ${COLUMNS} from events order by position desc limit ?`,
  run:  `select ${COLUMNS} from events where run_id = ? order by seq desc limit ?`,
  task: `select ${COLUMNS} from events where task_id = ? order by position desc limit ?`,
};

/** Rows at a time when a whole run is read. */
const PAGE = 500;

type EventRow = Omit<RuntimeEvent, "payload"> & { readonly position: number; readonly payload: string };

function recordedEvent({ position, payload, ...rest }: EventRow): RecordedEvent {
  return { position, event: { ...rest, payload: JSON.parse(payload) as RuntimeEvent["payload"] } };
}

interface TableJournalOptions {
  readonly run_id: string;
  readonly lease: LeaseKey | undefined;
  readonly clock: () => number;
}

/** Journal on a table: in the service this is the truth. */
export class TableJournal implements Journal {
  readonly run_id: string;
  readonly commits = true;
  readonly #database: Database;
  readonly #clock: () => number;
  readonly #lease: LeaseKey | undefined;

  constructor(database: Database, { run_id, lease, clock }: TableJournalOptions) {
    this.run_id = run_id;
    this.#database = database;
    this.#clock = clock;
    this.#lease = lease;
  }

  /** Always durable: a commit is on disk when it returns. */
  append(drafts: readonly EventDraft[], { result, commit }: AppendOptions = {}): Promise<readonly RuntimeEvent[]> {
    const doing = `record events of run "${this.run_id}"`;
    return this.#database.transaction(doing, async (queries) => {
      if (this.#lease !== undefined) await requireLease(queries, this.#lease, doing);
      if (commit !== undefined) await commitStart(queries, commit, this.#clock());
      return await appendEvents(queries, { run_id: this.run_id, drafts, result });
    });
  }

  async *read(after = 0): AsyncIterable<RuntimeEvent> {
    let last = after;
    for (;;) {
      const page = await this.#database.read(`read the events of run "${this.run_id}"`, (queries) =>
        queries.all<EventRow>(OF_RUN_AFTER_SEQ, [this.run_id, last, PAGE]),
      );
      for (const row of page) {
        yield recordedEvent(row).event;
        last = row.seq;
      }
      if (page.length < PAGE) return;
    }
  }

  /** There is nothing to close: the connection is the store's. */
  async close(): Promise<void> {}
}

export function createEvents(database: Database): Events {
  return {
    read: ({ after = 0, limit, ...filter }) => {
      const [kind, of] = chosen(filter);
      return database.read("read events", async (queries) => {
        const rows = await queries.all<EventRow>(AFTER[kind], [...of, after, limit]);
        return rows.map(recordedEvent);
      });
    },
    last: ({ limit, ...filter }) => {
      const [kind, of] = chosen(filter);
      return database.read("read the last events", async (queries) => {
        const rows = await queries.all<EventRow>(NEWEST[kind], [...of, limit]);
        return rows.map(recordedEvent).reverse();
      });
    },
    audits: (filter) => database.read("search the audit records", (queries) => findAudits(queries, filter)),
  };
}

/** A task has one run of its own, and others when it is tried as part of something larger: the run is the narrower one. */
function chosen({ run_id, task_id }: Omit<EventFilter, "limit">): readonly [keyof typeof AFTER, readonly SqlValue[]] {
  if (run_id !== undefined) return ["run", [run_id]];
  if (task_id !== undefined) return ["task", [task_id]];
  return ["all", []];
}

/** What the start of a call uses up. A yes that was used before lets nothing begin. */
async function commitStart(queries: Queries, { approval_id, quota }: StartCommit, now: number): Promise<void> {
  if (quota !== undefined) await charge(queries, { ...quota, now });
  if (approval_id === undefined || (await useApproval(queries, approval_id, now))) return;
  throw new ToolError("ApprovalExpired", "Cannot begin the call: its approval was used, or taken back, before", {
    approval_id,
  });
}
