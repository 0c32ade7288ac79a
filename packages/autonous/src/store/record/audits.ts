import type { AuditRecord } from "@autonous/runtime/internal";
import { compileActors, outcomeOf } from "./audit-filter.ts";
import type { AuditFilter, AuditPage } from "./audit-filter.ts";
import type { Queries } from "../sqlite/database.ts";

// Must equal the condition of the index `events_calls`, or SQLite does not use the index.
const ENDS = "type in ('tool_call.completed', 'tool_call.failed')";
const COLUMNS = "position, run_id, task_id, ts, payload";
const OF_ALL = `select ${COLUMNS} from events where ${ENDS} and position < ? order by position desc limit ?`;
const OF_RUN = `select ${COLUMNS} from events where run_id = ? and ${ENDS} and position < ? order by position desc limit ?`;

const A_READ = 250;
/**
 * Rows per page: a search for rare records returns a partial page and continues with the next, so that others are not
 * blocked.
 */
const MOST_LOOKED_AT = 5000;
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
export async function findAudits(queries: Queries, filter: AuditFilter): Promise<AuditPage> {
  const { run_id, since = Number.NEGATIVE_INFINITY, limit } = filter;
  const matches = compileFilter(filter);
  const records: AuditPage["records"][number][] = [];
  let last = filter.after ?? Number.MAX_SAFE_INTEGER;
  for (let looked = 0; looked < MOST_LOOKED_AT; looked += A_READ) {
    const rows =
      run_id === undefined
        ? await queries.all<CallRow>(OF_ALL, [last, A_READ])
        : await queries.all<CallRow>(OF_RUN, [run_id, last, A_READ]);
    for (const row of rows) {
      if (Date.parse(row.ts) < since - CLOCK_SLACK_MS) return { records, next: null };
      last = row.position;
      const audit = auditIn(row.payload);
      if (audit === undefined || !matches(audit)) continue;
      records.push({ run_id: row.run_id, task_id: row.task_id, ...audit });
      if (records.length === limit) return { records, next: last };
    }
    if (rows.length < A_READ) return { records, next: null };
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
