/**
 * What the `autonous` product needs beyond the public API. Unstable: names change in any release, without a changelog
 * entry. Embedding programs import from `@autonous/runtime`.
 */
export { DEFAULTS } from "./options/defaults.ts";
export { inspectSandbox, listSkills } from "./runs/inspect.ts";
export { surveyWorkspace } from "./start/survey-workspace.ts";
export type { WorkspaceSurvey } from "./start/survey-workspace.ts";
export { readNotes } from "./start/read-notes.ts";
export type { ProjectNote, ProjectNotes, SkippedNote } from "./contract/notes.ts";
export { cutAfter, shareOut } from "./output/share-out.ts";
export type { GitState } from "./machine/git/git-state.ts";
export type { SandboxReport } from "./runs/inspect.ts";
export type { ChangesFilter, EventFilter, FileDiff } from "./options/runtime-options.ts";
export { openApprovals } from "./late/lazy-approvals.ts";
export { adoptOldState, findOldState, migrateState, migrationText, orphanedStates } from "./start/migrate-state.ts";
export type { Migration } from "./start/migrate-state.ts";
export { checkState, isUnusedState, locateState, openState, splitRootsOf } from "./start/state-place.ts";
export type { StateCheck, StateOptions } from "./start/state-place.ts";
export { ruleFor } from "./policy/rules/grant-rule.ts";
export type { CheckVerdict, DecisionSettings, PolicyLayer, RuleOrigin } from "./policy/decide.ts";
export { mergeTrusted, narrowBy } from "./policy/layers.ts";
export { matchPerson } from "./policy/rules/rule-conditions.ts";
export type { Progress } from "./gate/parts.ts";
export type { JsonSchema } from "./contract/tool.ts";
export type { ToolFiles } from "./contract/context.ts";
export type { SkillEntry, SkillIdentity, SkillIndex } from "./contract/skills.ts";
export type { Clock } from "./contract/host.ts";
export type { ApprovalFilter, ApprovalKeeper } from "./contract/approvals.ts";
export type { MemoryEntry, MemoryKeeper, MemoryPage } from "./contract/memory.ts";
export type { AppendOptions, CallState, Journal, OpenJournal, StartCommit } from "./contract/journal.ts";
export { COUNTED } from "./protocol/counted.ts";
export type { Counts, QuotaHolder, QuotaKeeper, QuotaUse } from "./contract/quotas.ts";
export { APPROVAL_STATES, canBecome } from "./protocol/approval-states.ts";
export type { ApprovalState } from "./protocol/approval-states.ts";
export { boundList, boundText } from "./protocol/bounds.ts";
export type { ErrorClass } from "./protocol/errors.ts";
export { faultReason } from "./protocol/program-fault.ts";
export { makeId, makeTraceId } from "./protocol/ids.ts";
export { pause, pauseUntilAborted } from "./protocol/pause.ts";
export { inSingleQuotes, quoteForShell } from "./protocol/shell-quote.ts";
export { REDACTION_MARKER } from "./protocol/marker.ts";
export { isStorageRef } from "./protocol/storage-ref.ts";
export { canonicalJson } from "./protocol/canonical.ts";
export { locateJson, parseStrictJson } from "./protocol/json-places.ts";
export type { LocatedJson } from "./protocol/json-places.ts";
export { EVENTS, FIRST_HASH } from "./protocol/events.ts";
export { runtimeEvent, parseEvent } from "./protocol/event-record.ts";
export type { EventDraft } from "./protocol/event-record.ts";
export type { EventType } from "./protocol/events.ts";
export { auditRecord } from "./protocol/audit.ts";
export type { Actor, AuditRecord } from "./protocol/audit.ts";
export { approvalAnswer, approvalRequest, reverseThinking } from "./protocol/approval.ts";
export type { Approval, Grant, GrantOffer, GrantPattern, ReverseThinking } from "./protocol/approval.ts";
export type { AttachedFile } from "./protocol/attachment.ts";
export { labelled, makeInputSchema } from "./protocol/call.ts";
export { toolCallResult } from "./protocol/result.ts";
export type { Label, ToolCallRequest } from "./protocol/call.ts";
export { checkConfiguration } from "./policy/check-configuration.ts";
export { makePolicySchema, PROFILE_NAMES, SANDBOX_MODES } from "./protocol/configuration.ts";
export type { ProfileName, Quota, ReverseThinkingOrder, SandboxMode } from "./protocol/configuration.ts";
export { forgetOpenApprovals, hasOpenApproval, writeRunApprovals } from "./journal/approval-file.ts";
export { chainEvents, EMPTY_TAIL, hashOfEvent, sealOf } from "./journal/hash-chain.ts";
export { headsFolder, readHead, removeHead, replaceHead, runsWithHeads, userStateFolder } from "./journal/heads.ts";
export { homeFolder } from "./own-files/home-folder.ts";
export { NotAFileError, openOwnFile, readOwnText } from "./own-files/read-own-file.ts";
export { createKeyFile, openRecordKey, readRecordKey } from "./journal/record-key.ts";
export { JsonlJournal } from "./journal/jsonl-journal.ts";
export { readLines } from "./journal/read-lines.ts";
export { Prunings, pruningsFile, readPrunings } from "./journal/prunings.ts";
export type { RunRemoval, PrunedRun, RestoredPayload } from "./journal/prunings.ts";
export { dropUnfinished, isRunId, runPath, syncFolder } from "./journal/run-folder.ts";
export { buildTree } from "./journal/tree.ts";
export type { EventNode } from "./journal/tree.ts";
export { summarizeRun, verifyEvents } from "./journal/verify.ts";
export type { UnreadableEvent } from "./journal/verify.ts";
export type { AuditProblem } from "./journal/chain-check.ts";
export {
  countChanges,
  listUndoLogs,
  objectBytesOf,
  pruneUndoLog,
  removeOldPruned,
  sweepUndoObjects,
} from "./machine/files/prune-undo.ts";
export { removeUnused } from "./machine/state/bind-folder.ts";
export { hasState } from "./machine/state/move-state.ts";
export { proxyFor } from "./machine/network/environment-proxy.ts";
export type { EnvironmentProxy } from "./machine/network/environment-proxy.ts";
export { checkRoots, splitRoots } from "./machine/system/roots.ts";
export { configurationFolder } from "./machine/skills/skill-sources.ts";
export { endOwnCommands, isRunByCall, sweepLost } from "./machine/processes/marks.ts";
export { machineFacts, machineLimits } from "./machine/processes/machine-limits.ts";
export type { CommandLimits } from "./contract/processes.ts";
export { findOnPath, findProgram, PROGRAMS } from "./machine/processes/programs.ts";
export type { ProgramName } from "./machine/processes/programs.ts";
export { isInside } from "./paths/inside.ts";
export { nearestNames } from "./gate/registry.ts";
export { unifiedDiff } from "./edits/unified-diff.ts";
export { interruptedEnd } from "./runs/interrupted.ts";
export { isParked } from "./gate/parked.ts";
export { isToolSearch, toolsFoundBy } from "./tools/tool-search.ts";
export { showPlainly, showPlainlyLines } from "./output/look-alikes.ts";
export { dropHidden, makeVisible, makeVisibleLines, visibleJson } from "./output/visible.ts";
export { createRedactStream } from "./start/redact-stream.ts";
export { secretsOf } from "./redact/assignments/secret-variables.ts";
export { recogniseContent } from "./text/kinds.ts";
export { isBuiltInTool } from "./tools/all.ts";
