import type { Tool } from "../contract/tool.ts";
import type { UndoRecord } from "../contract/undo-keeper.ts";
import type { Actor, AuditRecord } from "../protocol/audit.ts";
import { ERRORS } from "../protocol/errors.ts";
import type { EventDraft, RuntimeEvent } from "../protocol/event-record.ts";
import { makeId } from "../protocol/ids.ts";

interface Interrupted {
  /** The `tool_call.started` without an end. */
  readonly started: RuntimeEvent;
  /** Undefined if the tool no longer exists. */
  readonly tool: Pick<Tool, "version" | "audit_operation"> | undefined;
  readonly now: number;
  /** The changes it had made, if they were found. */
  readonly change?: InterruptedChange | undefined;
}

/** The recorded changes of a call whose process was killed. */
export interface InterruptedChange {
  readonly undo_id: string;
  /** A clause. */
  readonly effect: string;
}

/** Contains no paths: they are in the undo record, and may need redaction here. */
export function describeInterrupted({ undo_id, files, lost = [], lost_more = 0 }: UndoRecord): InterruptedChange {
  const rest = lost.length + lost_more;
  const kept = files.length === 0 ? [] : [`paths changed before that: ${files.length}; undo: ${undo_id}`];
  const gone = rest === 0 ? [] : [`changes that cannot be undone: ${rest} (${lost[0]?.why ?? ""})`];
  return { undo_id, effect: [...kept, ...gone].join("; ") };
}

/** Ends a call whose process ended first. If it is unknown whether the call took effect, the record says so. */
export function interruptedEnd({ started, tool, now, change }: Interrupted): EventDraft {
  const { event_id, ts, trace_id, task_id, run_id, payload } = started;
  const { class: errorClass, hint } = ERRORS.Interrupted;
  const tool_name = String(payload["tool_name"]);
  const tool_call_id = String(payload["tool_call_id"]);
  const message = `"${tool_name}" was running when its process ended; ${change?.effect ?? EFFECT_UNKNOWN}`;
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
    artifacts: { files_changed: [], commands_run: [], ...(change && { undo_id: change.undo_id }) },
  };
  const error = { code: "Interrupted", class: errorClass, message, hint };
  const end = { tool_call_id, tool_name, error, error_class: errorClass, redacted: false, audit };
  const about = { trace_id, task_id, run_id, parent_id: event_id };
  return { event_id: makeId("evt", now), ts: audit.ts_end, type: "tool_call.failed", ...about, payload: end };
}

const EFFECT_UNKNOWN = "whether it took effect is not known";

/** For calls recorded by versions without an actor. */
const UNKNOWN_ACTOR: Actor = { user: null, chat: null, channel: "unknown", model: null, host: "unknown" };
