export { createRuntime, DEFAULTS } from "./runtime.ts";
export type { EventFilter, Runtime, RuntimeOptions } from "./runtime.ts";
export type { ToolInfo } from "./tool-info.ts";
export type { CheckVerdict, Decision } from "./policy/decide.ts";
export type { CallOptions, Progress } from "./gate/call.ts";

export { defineTool } from "./contract/tool.ts";
export type { JsonSchema, Tool, ToolDeclaration, ToolOutput, Touch } from "./contract/tool.ts";
export type { ToolContext, ToolFiles } from "./contract/context.ts";
export type { Clock, OnApproval, OnCheckpoint, OnReverseThinking } from "./contract/host.ts";
export type { AppendOptions, Journal, OpenJournal } from "./contract/journal.ts";

export { ERRORS, ToolError } from "./protocol/errors.ts";
export type { ErrorClass, ErrorCode } from "./protocol/errors.ts";
export { makeId, makeTraceId } from "./protocol/ids.ts";
export { canonicalJson } from "./protocol/canonical.ts";
export { EVENTS, FIRST_HASH } from "./protocol/events.ts";
export { runtimeEvent } from "./protocol/event-record.ts";
export type { EventDraft, RuntimeEvent } from "./protocol/event-record.ts";
export type { EventType } from "./protocol/events.ts";
export { auditRecord } from "./protocol/audit.ts";
export type { AuditRecord } from "./protocol/audit.ts";
export { approvalAnswer, approvalRequest, reverseThinking } from "./protocol/approval.ts";
export type { ApprovalAnswer, ApprovalRequest, ReverseThinking } from "./protocol/approval.ts";
export { makeInputSchema } from "./protocol/call.ts";
export { toolCallResult } from "./protocol/result.ts";
export type { CallError, ToolCallResult } from "./protocol/result.ts";
export type { ToolCallInput, ToolCallRequest } from "./protocol/call.ts";
export { checkConfiguration } from "./policy/check-configuration.ts";
export { PROFILE_NAMES } from "./protocol/configuration.ts";
export type { PolicyConfiguration, PolicyRule, ProfileName } from "./protocol/configuration.ts";

export { chainEvents, EMPTY_TAIL } from "./journal/hash-chain.ts";
export { headsFolder } from "./journal/heads.ts";
export { JsonlJournal } from "./journal/jsonl-journal.ts";
export { readLines } from "./journal/lines.ts";
export { runPath } from "./journal/run-folder.ts";
export { buildTree } from "./journal/tree.ts";
export type { EventNode } from "./journal/tree.ts";
export { verifyAudit, verifyEvents } from "./journal/verify.ts";
export type { AuditProblem, AuditVerdict } from "./journal/verify.ts";

export { checkRoots, splitRoots } from "./machine/files/roots.ts";
export { nearestNames } from "./gate/nearest.ts";
export { makeVisible, makeVisibleLines } from "./output/visible.ts";
export { redact } from "./redact/redact.ts";
export { createRedactStream } from "./redact-stream.ts";
export { secretsOf } from "./secrets.ts";
