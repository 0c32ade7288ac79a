import type { AuditRecord } from "@autonous/runtime";
import { compileActors, outcomeOf } from "./audit-filter.ts";
import type { AuditFilter, AuditPage } from "./audit-filter.ts";
import type { Queries } from "../sqlite/database.ts";

const ENDS = "type in ('tool_call.completed', 'tool_call.failed')"; // as the index `events_calls` has it, or it is not used
const COLUMNS = "position, run_id, task_id, ts, payload";
const OF_ALL = `select ${COLUMNS} from events where ${ENDS} and position < ? order by position desc limit ?`;
const OF_RUN = `select ${COLUMNS} from events where run_id = ? and ${ENDS} and position < ? order by position desc limit ?`;

const A_READ = 250;
/** A page may end before it is full: whoever searches for what is rare asks again, and others get their turn. */
const MOST_LOOKED_AT = 5000;
/** Records stand in the order of time, but for a clock that was set; by more than this it is not. */
const CLOCK_SLACK_MS = 24 * 3600 * 1000;

interface CallRow {
  readonly position: number;
  readonly run_id: string;
  readonly task_id: string | null;
  readonly ts: string;
  readonly payload: string;
}

/** The audit records that match, newest first. */
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

/** A row that is not valid JSON is what `audit verify` reports; a search goes on without it. */
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
