import { ERRORS } from "@autonous/runtime";
import { labelled } from "@autonous/runtime/internal";
import type { CallError, ErrorCode, RuntimeEvent, ToolCallResult } from "@autonous/runtime";
import type { Actor, AuditRecord } from "@autonous/runtime/internal";
import type { RequestedCall } from "./replies/requested-calls.ts";
import type { RecordedCall } from "./resume.ts";
import type { Run } from "./agent-run.ts";
import { callerOf } from "./running-calls.ts";

type Payload = NonNullable<ToolCallResult["payload"]>;

/** The fields that are needed here of the event that ends a call. */
interface EndPayload {
  readonly tool_call_id: string;
  readonly latency_ms?: number;
  readonly exit_code?: number;
  readonly truncated_lines?: boolean;
  readonly truncated_bytes?: boolean;
  readonly error?: CallError;
  readonly redacted?: boolean;
  readonly audit: AuditRecord;
}

const NOT_KEPT = "(This call ended before the run was interrupted. Its output was not stored.)";
const NO_OUTPUT: Payload = {
  exit_code: 1,
  stdout: "",
  stderr: "",
  truncated_lines: false,
  truncated_bytes: false,
  data: {},
  meta: {},
};

/** Rebuilds a result from the event that ended the call. The event does not contain the output. */
export function resultOfEvent({ payload }: RuntimeEvent): ToolCallResult {
  const { tool_call_id, error, audit, redacted = false, ...end } = payload as unknown as EndPayload;
  const { exit_code, stdout_ref } = audit.result;
  const output: Payload = {
    ...NO_OUTPUT,
    exit_code: exit_code ?? 0,
    stdout: error?.code === "Interrupted" ? "" : NOT_KEPT,
    truncated_lines: end.truncated_lines ?? false,
    truncated_bytes: end.truncated_bytes ?? false,
    ...(stdout_ref === null ? {} : { storage_ref: stdout_ref }),
  };
  return {
    tool_call_id,
    ok: error === undefined,
    payload: exit_code === null ? null : output, // null: refused, nothing was run
    error: error ?? null,
    artifacts: audit.artifacts,
    duration_ms: audit.duration_ms,
    redacted,
  };
}

/** Whether the result is complete. A failure is described completely by its error, which is in the event. */
export function hasOutput({ payload }: ToolCallResult): boolean {
  return payload?.stdout !== NOT_KEPT;
}

interface SkippedCall {
  readonly call: RequestedCall;
  readonly code: Extract<ErrorCode, "Interrupted" | "InvalidArguments">;
  readonly past: RecordedCall;
  /** `event_id` of the turn's start. */
  readonly parent_id: string;
  readonly reason: string;
}

/** Records the failure of a call that is not run (again), so that the model can inspect and decide. */
export async function recordSkippedCall(run: Run, unmade: SkippedCall): Promise<ToolCallResult> {
  const { call, past, parent_id, reason, code } = unmade;
  const { class: errorClass, hint } = ERRORS[code];
  const error: CallError = { code, class: errorClass, message: run.redact(reason), hint };
  const result: ToolCallResult = {
    tool_call_id: call.tool_call_id,
    ok: false,
    payload: past.started === undefined ? null : NO_OUTPUT,
    error,
    artifacts: { files_changed: [], commands_run: [] },
    duration_ms: past.started === undefined ? 0 : Math.max(0, run.now() - Date.parse(past.started.ts)),
    redacted: call.redacted,
  };
  const tool_name = toolNameOf(call, past.started);
  const about = { tool_call_id: call.tool_call_id, tool_name, error, error_class: errorClass, redacted: call.redacted };
  await run.write({
    type: "tool_call.failed",
    parent_id: past.started?.event_id ?? parent_id,
    payload: { ...about, audit: auditOf(run, unmade, result) },
    options: { durable: true, result },
  });
  return result;
}

/** The canonical tool name, from the start of the call: a reply may use an alias. */
function toolNameOf({ name }: RequestedCall, started: RuntimeEvent | undefined): string {
  const recorded = started?.payload["tool_name"];
  return typeof recorded === "string" ? recorded : name;
}

function actorOf(run: Run): Actor {
  const { user, chat, channel, model } = callerOf(run);
  const own = run.options.runtime.actor;
  return { ...own, user: user ?? own.user, chat: chat ?? own.chat, channel: channel ?? own.channel, model };
}

/** The audit record that every call has (spec 1, Events). The policy decision was lost with its process. */
function auditOf(run: Run, { call, code, past: { started } }: SkippedCall, result: ToolCallResult): AuditRecord {
  const name = toolNameOf(call, started);
  const tool = run.options.runtime.tools().find((each) => each.name === name);
  const now = new Date(run.now()).toISOString();
  return {
    trace_id: run.trace_id,
    tool_call_id: call.tool_call_id,
    tool: name,
    version: tool?.version ?? null,
    risk: tool?.risk ?? null,
    operation: tool?.audit_operation ?? null,
    ...labelled(tool),
    ts_start: started?.ts ?? now,
    ts_end: now,
    duration_ms: result.duration_ms,
    params: started?.payload["arguments"] ?? call.arguments,
    result: { ok: false, exit_code: result.payload?.exit_code ?? null, error_code: code, stdout_ref: null },
    policy: { decision: null, rule: null, approved: null, approval_scope: null, approved_by: null },
    actor: (started?.payload["actor"] as Actor | undefined) ?? actorOf(run),
    sandbox: "unknown",
    hashes: {},
    artifacts: result.artifacts,
  };
}
