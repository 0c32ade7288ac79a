import type { Tool } from "../contract/tool.ts";
import type { Actor, AuditRecord } from "../protocol/audit.ts";
import { ERRORS } from "../protocol/errors.ts";
import type { EventDraft, RuntimeEvent } from "../protocol/event-record.ts";
import { makeId } from "../protocol/ids.ts";

interface Interrupted {
  /** The `tool_call.started` that has no end. */
  readonly started: RuntimeEvent;
  /** Undefined where there is no such tool any more. */
  readonly tool: Pick<Tool, "version" | "audit_operation"> | undefined;
  readonly now: number;
}

/** Ends a call whose process ended before it. Whether it took effect is not known, and the record says so. */
export function interruptedEnd({ started, tool, now }: Interrupted): EventDraft {
  const { event_id, ts, trace_id, task_id, run_id, payload } = started;
  const { class: errorClass, hint } = ERRORS.Interrupted;
  const tool_name = String(payload["tool_name"]);
  const tool_call_id = String(payload["tool_call_id"]);
  const message = `"${tool_name}" was running when its process ended; whether it took effect is not known`;
  const audit: AuditRecord = {
    trace_id,
    tool_call_id,
    tool: tool_name,
    version: tool?.version ?? null,
    risk: null,
    operation: tool?.audit_operation ?? null,
    ts_start: ts,
    ts_end: new Date(now).toISOString(),
    duration_ms: Math.max(0, now - Date.parse(ts)),
    params: payload["arguments"],
    result: { ok: false, exit_code: 1, error_code: "Interrupted", stdout_ref: null },
    policy: { decision: null, rule: null, approved: null, approval_scope: null, approved_by: null },
    actor: (payload["actor"] as Actor | undefined) ?? UNKNOWN_ACTOR,
    sandbox: "unknown",
    hashes: {},
    artifacts: { files_changed: [], commands_run: [] },
  };
  const error = { code: "Interrupted", class: errorClass, message, hint };
  const end = { tool_call_id, tool_name, error, error_class: errorClass, redacted: false, audit };
  const about = { trace_id, task_id, run_id, parent_id: event_id };
  return { event_id: makeId("evt", now), ts: audit.ts_end, type: "tool_call.failed", ...about, payload: end };
}

/** Of calls that were started by a version that did not record it. */
const UNKNOWN_ACTOR: Actor = { user: null, chat: null, channel: "unknown", model: null, host: "unknown" };
