import { ToolError } from "@autonous/runtime";
import type { RuntimeEvent, ToolCallResult } from "@autonous/runtime";
import type { AuditRecord, CallState } from "@autonous/runtime/internal";
import type { Database, Queries } from "../sqlite/database.ts";
import { isObject, parseKept } from "../sqlite/kept-json.ts";
import type { Calls } from "../store.ts";

/** Requested by the model but not started: it waits for its turn or for a person. */
const QUEUED = `insert into tool_calls (run_id, id, task_id, tool_name, arguments_json, status)
  values (?, ?, ?, ?, ?, 'queued') on conflict (run_id, id) do nothing`;

const STARTED = `insert into tool_calls (run_id, id, task_id, tool_name, arguments_json, status, started_at)
  values (?, ?, ?, ?, ?, 'running', ?)
  on conflict (run_id, id) do update set status = 'running', tool_name = excluded.tool_name,
    arguments_json = excluded.arguments_json, started_at = excluded.started_at, output_text = null, result_json = null,
    error = null, finished_at = null`;

/** A refused call has an end but no start: its arguments and time come from its audit record. */
const ENDED = `insert into tool_calls
  (run_id, id, task_id, tool_name, arguments_json, status, output_text, result_json, error, started_at, finished_at)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  on conflict (run_id, id) do update set status = excluded.status, tool_name = excluded.tool_name,
    arguments_json = iif(status = 'queued', excluded.arguments_json, arguments_json), output_text = excluded.output_text,
    result_json = excluded.result_json, error = excluded.error, started_at = coalesce(started_at, excluded.started_at),
    finished_at = excluded.finished_at`;

const STATE = "select status from tool_calls where run_id = ? and id = ?";
const RESULT = `select result_json from tool_calls where run_id = ? and id = ? and status in ('done', 'failed')`;

/** Updates `tool_calls` for events that request, start and end a call. */
export async function recordCall(queries: Queries, event: RuntimeEvent, result?: ToolCallResult): Promise<void> {
  if (event.type === "model.completed") return await recordQueued(queries, event);
  if (event.type === "tool_call.started") return await recordStart(queries, event);
  if (event.type === "tool_call.completed") return await recordEnd(queries, event, { status: "done", result });
  if (event.type === "tool_call.failed") return await recordEnd(queries, event, { status: "failed", result });
}

/** Longer arguments are omitted until the call starts: the event has them, and then they are stored truncated. */
const MAX_ARGUMENTS = 16_384;

async function recordQueued(queries: Queries, { run_id, task_id, payload }: RuntimeEvent): Promise<void> {
  const { calls } = payload;
  if (!Array.isArray(calls)) return;
  for (const call of calls as readonly unknown[]) {
    const { tool_call_id, name, arguments: asked = null } = Object(call) as Readonly<Record<string, unknown>>;
    if (typeof tool_call_id !== "string" || typeof name !== "string") continue;
    const args = JSON.stringify(asked);
    await queries.run(QUEUED, [run_id, tool_call_id, task_id, name, args.length > MAX_ARGUMENTS ? null : args]);
  }
}

/**
 * An id is used once. A call that a crash left open may be started again; the gate decides whether its tool allows
 * that.
 */
async function recordStart(queries: Queries, event: RuntimeEvent): Promise<void> {
  const { run_id, task_id, payload, ts } = event;
  const { id, toolName } = identify(event);
  if ((await stateOfCall(queries, run_id, id)) === "ended")
    throw new ToolError("InvalidArguments", `Cannot run "${toolName}" as "${id}": that call of this run has ended`, {
      field: "tool_call_id",
    });
  const args = JSON.stringify(payload["arguments"] ?? null);
  await queries.run(STARTED, [run_id, id, task_id, toolName, args, Date.parse(ts)]);
}

interface End {
  readonly status: "done" | "failed";
  readonly result: ToolCallResult | undefined;
}

async function recordEnd(queries: Queries, event: RuntimeEvent, { status, result }: End): Promise<void> {
  const { run_id, task_id, payload, ts } = event;
  const { id, toolName } = identify(event);
  const own = result?.tool_call_id === id ? result : undefined;
  const error = payload["error"] === undefined ? null : asText(payload["error"]);
  const { params = null, ts_start = ts } = Object(payload["audit"]) as Partial<AuditRecord>;
  const output = own === undefined ? [null, null] : [textOfResult(own), JSON.stringify(own)];
  const values = [JSON.stringify(params), status, ...output, error, Date.parse(ts_start), Date.parse(ts)];
  await queries.run(ENDED, [run_id, id, task_id, toolName, ...values]);
}

/** Output of a call: stdout, then stderr, as in the result. Null: it did not run. */
export function textOfResult({ payload }: Pick<ToolCallResult, "payload">): string | null {
  return payload && [payload.stdout, payload.stderr].filter((text) => text !== "").join("\n");
}

/** Recorded state of a call; undefined: not started. */
export async function stateOfCall(queries: Queries, run_id: string, id: string): Promise<CallState | undefined> {
  const row = await queries.one<{ readonly status: string }>(STATE, [run_id, id]);
  if (row === undefined || row.status === "queued") return undefined;
  return row.status === "running" ? "open" : "ended";
}

function identify({ event_id, type, payload }: RuntimeEvent): { readonly id: string; readonly toolName: string } {
  const { tool_call_id: id, tool_name: toolName } = payload;
  if (typeof id !== "string" || typeof toolName !== "string") {
    throw new TypeError(`Cannot record event "${event_id}": ${type} requires tool_call_id and tool_name`);
  }
  return { id, toolName };
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function createCalls(database: Database): Calls {
  return {
    result: ({ run_id, tool_call_id }) =>
      database.read("read the result of a call", async (queries) => {
        const row = await queries.one<{ readonly result_json: string | null }>(RESULT, [run_id, tool_call_id]);
        const text = row?.result_json;
        // A damaged result counts as missing; its hash is recorded, and `audit verify` reports it.
        return typeof text === "string" ? parseKept(text, isResult) : undefined;
      }),
  };
}

function isResult(value: unknown): value is ToolCallResult {
  return isObject(value) && typeof value["tool_call_id"] === "string" && isObject(value["artifacts"]);
}
