import { hash } from "node:crypto";
import type { RuntimeEvent, ToolCallResult } from "@autonous/runtime";
import type { AuditProblem, UnreadableEvent } from "@autonous/runtime/internal";
import { textOfResult } from "./call-table.ts";
import type { Database, Queries } from "../sqlite/database.ts";
import { readableEvents } from "./event-table.ts";
import { SERVICE_CHAIN } from "./service-chain.ts";

/** Checks of the store for `audit verify`. */
export interface RecordChecks {
  /** The events of a run; unreadable ones are reported in their place. */
  events(run_id: string): AsyncIterable<RuntimeEvent | UnreadableEvent>;
  /** The run id of the service's chain; undefined if it has no events yet. */
  serviceChain(): Promise<string | undefined>;
  /** Contradictions between the tables: what one has and another lacks. */
  contradictions(): Promise<readonly AuditProblem[]>;
  /** Calls whose stored result does not match the recorded hash. */
  changedResults(run_id: string, recorded: ReadonlyMap<string, string>): Promise<readonly string[]>;
}

/** Reported examples per contradiction. */
const MAX_LISTED = 100;

const IS_STORED = "inbox.forgotten_at is null";

/** One statement per contradiction; each returns `run_id`. */
// oxfmt-ignore
const CONTRADICTIONS = [
  { problem: "the store has events of this run, but its task is not in the inbox",
    sql: `with recursive runs (run_id) as (select min(run_id) from events union all
            select (select min(run_id) from events where events.run_id > runs.run_id) from runs where runs.run_id is not null)
          select run_id from runs where run_id is not null and not exists (select 1 from inbox where inbox.run_id = runs.run_id)
            and run_id not in (${SERVICE_CHAIN})` },
  { problem: "the task of this run is in the inbox, but the store has no event of it",
    sql: `select run_id from inbox where ${IS_STORED} and not exists (select 1 from events where events.run_id = inbox.run_id)` },
  { problem: "the outbox has a reply of a task that is not in the inbox",
    sql: "select task_id as run_id from outbox where not exists (select 1 from inbox where inbox.task_id = outbox.task_id)" },
  { problem: "the audit log says that a reply was sent, but the outbox does not have it",
    sql: `select run_id from inbox where ${IS_STORED} and
            (select count(*) from events where events.run_id = inbox.run_id and type = 'reply.sent') >
            (select count(*) from outbox where outbox.task_id = inbox.task_id and kind in ('text', 'file') and sent_at is not null)` },
  { problem: "the outbox says that a reply was sent, but the audit log does not",
    sql: `select run_id from inbox where ${IS_STORED} and
            (select count(*) from events where events.run_id = inbox.run_id and type = 'reply.sent') <
            (select count(*) from outbox where outbox.task_id = inbox.task_id and kind in ('text', 'file') and sent_at is not null)` },
  { problem: "the inbox says that the task is done, but the audit log does not",
    sql: `select run_id from inbox where ${IS_STORED} and state = 'done' and
            not exists (select 1 from events where events.run_id = inbox.run_id and type = 'task.completed')` },
  { problem: "the audit log says that the task is done, but the inbox does not",
    sql: `select run_id from inbox where ${IS_STORED} and state <> 'done' and
            exists (select 1 from events where events.run_id = inbox.run_id and type = 'task.completed')` },
  { problem: "the audit log has the end of a call that is not in the table of calls",
    sql: `select distinct run_id from events where type in ('tool_call.completed', 'tool_call.failed') 
            and json_valid(payload) and exists (select 1 from inbox where inbox.run_id = events.run_id and ${IS_STORED})
            and not exists (select 1 from tool_calls where tool_calls.run_id = events.run_id
              and tool_calls.id = case when json_valid(payload) then json_extract(payload, '$.tool_call_id') end)` },
  { problem: "an approval of this run is not valid JSON: it allows nothing and cannot be answered",
    sql: "select distinct run_id from approvals where not json_valid(request_json) or not json_valid(coalesce(answer_json, '{}'))" },
  { problem: "a grant of this run is not valid JSON: it allows nothing",
    sql: "select distinct run_id from grants where not json_valid(grant_json)" },
  { problem: "the stored result of a call of this run is not valid JSON",
    sql: "select distinct run_id from tool_calls where not json_valid(coalesce(result_json, '{}'))" },
  { problem: "the outbox has an entry of this task that is not valid JSON: a notice is sent in its place",
    sql: "select task_id as run_id from outbox where kind <> 'text' and not json_valid(body)" },
] as const;

const RESULTS =
  "select id, output_text, result_json from tool_calls where run_id = ? and coalesce(output_text, result_json) is not null";

export function createRecordChecks(database: Database): RecordChecks {
  return {
    events: (run_id) => readableEvents(database, run_id),
    serviceChain: () =>
      database.read("find the chain of the service", async (queries) => {
        const row = await queries.one<{ readonly run_id: string }>(SERVICE_CHAIN);
        return row?.run_id;
      }),
    contradictions: () => database.read("compare the tables", findContradictions),
    changedResults: (run_id, recorded) =>
      database.read(`compare the results of run "${run_id}"`, (queries) => findChanged(queries, run_id, recorded)),
  };
}

async function findContradictions(queries: Queries): Promise<readonly AuditProblem[]> {
  const found: AuditProblem[] = [];
  for (const { sql, problem } of CONTRADICTIONS) {
    const rows = await queries.all<{ readonly run_id: string }>(`${sql} limit ${MAX_LISTED}`);
    found.push(...rows.map(({ run_id }) => ({ seq: 0, run_id, problem })));
  }
  return found;
}

async function findChanged(
  queries: Queries,
  run_id: string,
  recorded: ReadonlyMap<string, string>,
): Promise<readonly string[]> {
  const rows = await queries.all<StoredResult>(RESULTS, [run_id]);
  const found = new Map(rows.map((row) => [row.id, row]));
  return [...recorded].flatMap(([id, sha256]) => (isAsRecorded(found.get(id), sha256) ? [] : [id]));
}

interface StoredResult {
  readonly id: string;
  readonly output_text: string | null;
  readonly result_json: string | null;
}

/** Whether the result has the recorded hash, and the stored text matches the result. */
function isAsRecorded(row: StoredResult | undefined, sha256: string): boolean {
  if (typeof row?.result_json !== "string" || hash("sha256", row.result_json, "hex") !== sha256) return false;
  const text = textOfResult(JSON.parse(row.result_json) as ToolCallResult);
  return comparable(text) === comparable(row.output_text);
}

/** SQLite does not store lone surrogates: each is read back as one or several replacement characters. */
function comparable(text: string | null): string | undefined {
  return text?.toWellFormed().replace(/\uFFFD+/g, "\uFFFD");
}
