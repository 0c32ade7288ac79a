import type { RuntimeEvent } from "@autonous/runtime";
import type { UnreadableEvent, AuditRecord } from "@autonous/runtime/internal";
import type { Database, SqlValue, Queries } from "../sqlite/database.ts";
import { StoreError } from "../store-error.ts";
import { compileActors, outcomeOf } from "./audit-filter.ts";
import type { AuditFilter, AuditPage } from "./audit-filter.ts";

interface RecordedEvent {
  /** Increases over all runs in recording order. */
  readonly position: number;
  readonly event: RuntimeEvent;
}

/** An event in its row; unreadable if the row is damaged. */
export interface RecordedRow {
  readonly position: number;
  readonly run_id: string;
  readonly seq: number;
  readonly event: RuntimeEvent | UnreadableEvent;
}

export interface EventFilter {
  readonly run_id?: string;
  readonly task_id?: string;
  readonly limit: number;
}

export interface Events {
  /** The first `limit` events after a position, of all runs unless one is named. Throws if one is damaged. */
  read(filter: EventFilter & { readonly after?: number }): Promise<readonly RecordedEvent[]>;
  /** The last `limit` of them, oldest first. */
  last(filter: EventFilter): Promise<readonly RecordedEvent[]>;
  /** This and `lastRows` are for readers of several runs: a damaged row is reported in its place instead of thrown. */
  rows(filter: EventFilter & { readonly after?: number }): Promise<readonly RecordedRow[]>;
  lastRows(filter: EventFilter): Promise<readonly RecordedRow[]>;
  /** The rows of one run after a sequence number. */
  runRows(page: {
    readonly run_id: string;
    readonly after_seq: number;
    readonly limit: number;
  }): Promise<readonly RecordedRow[]>;
  /** The audit records of calls, newest first. */
  audits(filter: AuditFilter): Promise<AuditPage>;
}

const COLUMNS =
  "position, event_id, seq, ts, type, trace_id, task_id, run_id, parent_id, payload, mac, prev_hash, hash";
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

/** Rows per read of a whole run. */
const PAGE = 500;

type EventRow = Omit<RuntimeEvent, "payload" | "mac"> & {
  readonly position: number;
  readonly payload: string;
  readonly mac: string | null;
};

function recordedRow(row: EventRow): RecordedRow {
  const { position, run_id, seq } = row;
  return { position, run_id, seq, event: readRow(row) };
}

/** For readers that need every event: throws if it is damaged. */
export function requireEvent({ run_id, event }: RecordedRow): RuntimeEvent {
  if (!("unreadable" in event)) return event;
  throw new StoreError("DamagedRow", { doing: `read the audit log of run "${run_id}"`, why: event.unreadable });
}

function recordedEvent(row: RecordedRow): RecordedEvent {
  return { position: row.position, event: requireEvent(row) };
}

function readRow({ position, payload, mac, ...rest }: EventRow): RuntimeEvent | UnreadableEvent {
  const value = parsePayload(payload);
  if (value === undefined) return { unreadable: `row ${position} of the table "events" is not valid JSON` };
  return { ...rest, ...(mac === null ? {} : { mac }), payload: value };
}

function parsePayload(text: string): RuntimeEvent["payload"] | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && value !== null ? (value as RuntimeEvent["payload"]) : undefined;
  } catch {
    return undefined; // the caller reports it
  }
}

type RunPage = Parameters<Events["runRows"]>[0];

function runPage(database: Database, { run_id, after_seq, limit }: RunPage): Promise<readonly EventRow[]> {
  return database.read(`read the events of run "${run_id}"`, (queries) =>
    queries.all<EventRow>(OF_RUN_AFTER_SEQ, [run_id, after_seq, limit]),
  );
}

async function* rowsOf(database: Database, run_id: string, after: number): AsyncIterable<EventRow> {
  let last = after;
  for (;;) {
    const page = await runPage(database, { run_id, after_seq: last, limit: PAGE });
    yield* page;
    last = page.at(-1)?.seq ?? last;
    if (page.length < PAGE) return;
  }
}

/** The events of a run after a number. Throws if one is damaged. */
export async function* readEvents(database: Database, run_id: string, after: number): AsyncIterable<RuntimeEvent> {
  for await (const row of rowsOf(database, run_id, after)) yield requireEvent(recordedRow(row));
}

/** The events of a run for verification; unreadable ones are reported in their place. */
export async function* readableEvents(
  database: Database,
  run_id: string,
): AsyncIterable<RuntimeEvent | UnreadableEvent> {
  for await (const row of rowsOf(database, run_id, 0)) yield readRow(row);
}

export function createEvents(database: Database): Events {
  const rows: Events["rows"] = ({ after = 0, limit, ...filter }) => {
    const [kind, of] = scopeOf(filter);
    return database.read("read events", async (queries) =>
      (await queries.all<EventRow>(AFTER[kind], [...of, after, limit])).map(recordedRow),
    );
  };
  const lastRows: Events["lastRows"] = ({ limit, ...filter }) => {
    const [kind, of] = scopeOf(filter);
    return database.read("read the last events", async (queries) =>
      (await queries.all<EventRow>(NEWEST[kind], [...of, limit])).map(recordedRow).reverse(),
    );
  };
  return {
    rows,
    read: async (filter) => (await rows(filter)).map(recordedEvent),
    lastRows,
    runRows: async (page) => (await runPage(database, page)).map(recordedRow),
    last: async (filter) => (await lastRows(filter)).map(recordedEvent),
    audits: (filter) => database.read("search the audit records", (queries) => findAudits(queries, filter)),
  };
}

/** A task may have several runs, so the run is the narrower filter. */
function scopeOf({ run_id, task_id }: Omit<EventFilter, "limit">): readonly [keyof typeof AFTER, readonly SqlValue[]] {
  if (run_id !== undefined) return ["run", [run_id]];
  if (task_id !== undefined) return ["task", [task_id]];
  return ["all", []];
}

// Must equal the condition of the index `events_calls`, or SQLite does not use the index.
const ENDS = "type in ('tool_call.completed', 'tool_call.failed')";
const END_COLUMNS = "position, run_id, task_id, ts, payload";
const OF_ALL = `select ${END_COLUMNS} from events where ${ENDS} and position < ? order by position desc limit ?`;
const OF_RUN = `select ${END_COLUMNS} from events where run_id = ? and ${ENDS} and position < ? order by position desc limit ?`;

const PAGE_SIZE = 250;
/**
 * Rows per page: a search for rare records returns a partial page and continues with the next, so that others are not
 * blocked.
 */
const MAX_SCANNED = 5000;
/** Records are in order of time unless the clock was changed; we assume by no more than this. */
const CLOCK_SLACK_MS = 24 * 3600 * 1000;

interface CallRow {
  readonly position: number;
  readonly run_id: string;
  readonly task_id: string | null;
  readonly ts: string;
  readonly payload: string;
}

/** Matching audit records, newest first. */
async function findAudits(queries: Queries, filter: AuditFilter): Promise<AuditPage> {
  const { run_id, since = Number.NEGATIVE_INFINITY, limit } = filter;
  const matches = compileFilter(filter);
  const records: AuditPage["records"][number][] = [];
  let last = filter.after ?? Number.MAX_SAFE_INTEGER;
  for (let looked = 0; looked < MAX_SCANNED; looked += PAGE_SIZE) {
    const rows =
      run_id === undefined
        ? await queries.all<CallRow>(OF_ALL, [last, PAGE_SIZE])
        : await queries.all<CallRow>(OF_RUN, [run_id, last, PAGE_SIZE]);
    for (const row of rows) {
      if (Date.parse(row.ts) < since - CLOCK_SLACK_MS) return { records, next: null };
      last = row.position;
      const audit = auditIn(row.payload);
      if (audit === undefined || !matches(audit)) continue;
      records.push({ run_id: row.run_id, task_id: row.task_id, ...audit });
      if (records.length === limit) return { records, next: last };
    }
    if (rows.length < PAGE_SIZE) return { records, next: null };
  }
  return { records, next: last };
}

/** The search skips rows that are not valid JSON; `audit verify` reports them. */
function auditIn(payload: string): AuditRecord | undefined {
  try {
    return (JSON.parse(payload) as { readonly audit?: AuditRecord } | null)?.audit;
  } catch {
    return undefined;
  }
}

function compileFilter(filter: AuditFilter): (audit: AuditRecord) => boolean {
  const { tool, outcome, since, until } = filter;
  const isBy = compileActors(filter);
  return (audit) => {
    const startedMs = Date.parse(audit.ts_start);
    return (
      isBy(audit) &&
      (tool === undefined || audit.tool === tool) &&
      (outcome === undefined || outcomeOf(audit) === outcome) &&
      (since === undefined || startedMs >= since) &&
      (until === undefined || startedMs < until)
    );
  };
}
