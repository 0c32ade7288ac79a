import { hash } from "node:crypto";
import type { WorkspaceContext } from "../../policy/decide.ts";
import type { Actor, AuditRecord } from "../../protocol/audit.ts";
import { labelled } from "../../protocol/call.ts";
import type { CallError, ToolCallResult } from "../../protocol/result.ts";
import { ERRORS, ToolError } from "../../protocol/errors.ts";
import type { EventDraft } from "../../protocol/event-record.ts";
import type { Redactor } from "../../redact/redact.ts";
import { reasonOf } from "../../protocol/error-reason.ts";
import { actorOf, draftEvent } from "../draft-event.ts";
import type { GateParts } from "../parts.ts";
import type { Resolved, Settled, Stage } from "../stages.ts";
import type { IncomingCall } from "./open-call.ts";
import { needsDisk, shortenParams } from "./record-start.ts";

/**
 * Step 11: records the end of the call and its audit record in one event. An unrecorded call is not reported as done.
 */
export async function recordEnd(settled: Settled, parts: GateParts): Promise<ToolCallResult> {
  const { call, result } = settled;
  const { attempt } = call;
  attempt.is_over = true;
  try {
    const last = attempt.progress === null ? [] : await attempt.progress.close();
    const end = endEvent(settled, parts);
    const isUndo = "undo_records" in call && call.undo_records.length > 0;
    const undone = isUndo && result.ok ? [undoEvent(call, result, parts)] : [];
    await parts.journal.append([...last, ...undone, end], {
      durable: "started" in call && needsDisk(call),
      result,
    });
    return result;
  } catch (error) {
    return notRecorded(call, { result, error, redactor: parts.redactor });
  }
}

function endEvent({ call, result, cause }: Settled, parts: GateParts): EventDraft {
  const now = parts.clock();
  const params = shortenParams(call, parts);
  // The name of an unknown tool is arbitrary input.
  const tool_name = "tool" in call ? call.tool.name : parts.redactor.redact(call.request.name).text;
  const audit = auditOf(call, {
    result,
    tool_name,
    params,
    now,
    workspace: parts.workspace,
    redactor: parts.redactor,
    actor: actorOf(call, parts),
    keeps_results: parts.keeps_results || parts.journal.commits === true,
  });
  const { tool_call_id, payload, error } = result;
  const about = { tool_call_id, tool_name };
  if (error === null) {
    const { attachments } = call.attempt;
    const sent = attachments.length === 0 ? {} : { attachments };
    const { exit_code = 0, truncated_lines = false, truncated_bytes = false } = payload ?? {};
    return draftEvent(
      call,
      "tool_call.completed",
      { ...about, latency_ms: result.duration_ms, exit_code, truncated_lines, truncated_bytes, ...sent, audit },
      now,
    );
  }
  const failed = {
    ...about,
    error,
    error_class: error.class,
    redacted: result.redacted,
    ...(cause === null ? {} : { cause }),
    audit,
  };
  return draftEvent(call, "tool_call.failed", failed, now);
}

function undoEvent(call: Resolved, { tool_call_id, artifacts }: ToolCallResult, { clock }: GateParts): EventDraft {
  const undo_ids = call.undo_records.map(({ undo_id }) => undo_id);
  return draftEvent(call, "undo.applied", { tool_call_id, undo_ids, files_changed: artifacts.files_changed }, clock());
}

/** Only skills activated in the run: the host's initial ones are part of its configuration. */
function skillOf({ skill_names, skill_tools, skill_commands }: WorkspaceContext): Pick<AuditRecord, "skill"> {
  if (skill_names === undefined || skill_tools === undefined) return {};
  const commands = skill_commands === undefined ? {} : { commands: skill_commands };
  return { skill: { names: skill_names, tools: skill_tools, ...commands } };
}

interface AuditOptions {
  readonly result: ToolCallResult;
  readonly tool_name: string;
  readonly params: unknown;
  readonly now: number;
  readonly workspace: WorkspaceContext;
  readonly redactor: Redactor;
  readonly actor: Actor;
  readonly keeps_results: boolean;
}

function auditOf(call: Stage, options: AuditOptions): AuditRecord {
  const { result, tool_name, params, now, workspace, redactor, actor, keeps_results } = options;
  const { payload, error } = result;
  const { attempt, request, options: caller } = call;
  const tool = "tool" in call ? call.tool : undefined;
  const decision = "decision" in call ? call.decision : undefined;
  const approval = "approval" in call ? call.approval : null;
  return {
    trace_id: request.trace_id,
    tool_call_id: request.tool_call_id,
    tool: tool_name,
    version: tool?.version ?? null,
    risk: "risk" in call ? call.risk : null,
    operation: tool?.audit_operation ?? null,
    ...labelled(tool),
    ts_start: new Date(attempt.opened_ms).toISOString(),
    ts_end: new Date(now).toISOString(),
    duration_ms: result.duration_ms,
    params,
    ...(request.requested_permissions === undefined ? {} : { requested_permissions: request.requested_permissions }),
    result: {
      ok: result.ok,
      exit_code: payload?.exit_code ?? null,
      error_code: error?.code ?? null,
      stdout_ref: payload?.storage_ref ?? null,
    },
    policy: {
      decision: decision?.effect ?? null,
      rule: decision?.rule ?? null,
      approved: approval?.approved ?? null,
      approval_scope: approval?.scope ?? null,
      approved_by: approval?.by ?? null,
    },
    ...("touches" in call ? placesOf(call, redactor) : {}),
    actor,
    ...(caller.chat === undefined ? {} : { chat: caller.chat }),
    ...(caller.user === undefined ? {} : { user: caller.user }),
    sandbox: workspace.sandbox,
    ...skillOf(workspace),
    hashes: {
      ...(payload?.sha256 === undefined ? {} : { stdout_sha256: payload.sha256 }),
      ...(keeps_results ? { result_sha256: hash("sha256", JSON.stringify(result), "hex") } : {}),
      ...attempt.stored,
    },
    artifacts: result.artifacts,
    ...(attempt.reverse_thinking === null ? {} : { reverse_thinking: attempt.reverse_thinking }),
  };
}

/** A call may name many files: the record lists at most this many. */
const MAX_PLACES = 100;

function placesOf({ touches }: Resolved, redactor: Redactor): Pick<AuditRecord, "places"> {
  if (touches.length === 0) return {};
  const places = touches.slice(0, MAX_PLACES).map(({ path, real, access, skill_folder }) => ({
    path,
    real,
    access,
    ...(skill_folder === undefined ? {} : { skill_folder }),
  }));
  return { places: redactor.redactValue(places).value as typeof places };
}

/** The result if a run's record cannot be opened: nothing was run. */
export function unopenedResult({ request }: IncomingCall, error: unknown, redactor: Redactor): ToolCallResult {
  const why = `the record of its run cannot be opened (${error instanceof ToolError ? error.message : reasonOf(error)}), so nothing was run`;
  return {
    tool_call_id: request.tool_call_id,
    ok: false,
    payload: null,
    error: recordFailed(`Cannot run "${request.name}": ${why}`, redactor),
    artifacts: { files_changed: [], commands_run: [] },
    duration_ms: 0,
    redacted: false,
  };
}

function notRecorded(call: Stage, { result, error, redactor }: RecordFailure): ToolCallResult {
  const ran = "started" in call;
  const what = ran ? "ran, but its end could not be recorded" : "was refused, but the refusal could not be recorded";
  const failed = recordFailed(`"${call.request.name}" ${what} (${reasonOf(error)})`, redactor);
  const details = result.error === null ? {} : { details: { refused_with: result.error.code } };
  return { ...result, ok: false, error: { ...failed, ...details } };
}

interface RecordFailure {
  readonly result: ToolCallResult;
  readonly error: unknown;
  readonly redactor: Redactor;
}

function recordFailed(message: string, redactor: Redactor): CallError {
  const { class: errorClass, hint } = ERRORS.RecordFailed;
  return { code: "RecordFailed", class: errorClass, message: redactor.redact(message).text, hint };
}
