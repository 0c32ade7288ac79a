import type { Cursors, OpenedFile, OutputLimits, ToolContext } from "../contract/context.ts";
import type { Clock, OnApproval, OnCheckpoint, OnReverseThinking } from "../contract/host.ts";
import type { Journal, RunFolder } from "../contract/journal.ts";
import type { Access, ArgsAdapter, Tool, ToolOutput } from "../contract/tool.ts";
import type { UndoKeeper, UndoRecord } from "../contract/undo.ts";
import type {
  Decision,
  DecisionSettings,
  NamedAddress,
  NamedCommand,
  ResolvedTouch,
  WorkspaceContext,
} from "../policy/decide.ts";
import type { Scope } from "../protocol/decision.ts";
import type { ReverseThinking } from "../protocol/approval.ts";
import type { Risk, ToolCallRequest } from "../protocol/call.ts";
import type { EventDraft } from "../protocol/event-record.ts";
import type { EventType } from "../protocol/events.ts";
import { makeId } from "../protocol/ids.ts";
import type { Redactor } from "../redact/redact.ts";
import type { Grants } from "./grants.ts";
import type { Registry } from "./registry.ts";

/** What the gate works with. Made once by `runtime.ts`; the same for every call of a run. */
export interface GateParts {
  readonly registry: Registry;
  readonly journal: Journal;
  readonly folder: RunFolder;
  readonly workspace: WorkspaceContext;
  readonly settings: DecisionSettings;
  readonly redactor: Redactor;
  readonly cursors: Cursors;
  readonly limits: OutputLimits;
  readonly timeout_ms: number;
  readonly approval_timeout_ms: number;
  readonly clock: Clock;
  readonly cwd: string;
  readonly grants: Grants;
  /** Names that may be asked over the network. */
  readonly network_allow: readonly string[];
  /** Patterns of words that no command may match, between commas or line breaks. */
  readonly denylist: string;
  /** Binds an approval to the policy that asked for it. */
  policyVersion(): string;
  readonly quota: { taken: number };
  readonly onApproval: OnApproval | undefined;
  readonly onCheckpoint: OnCheckpoint | undefined;
  readonly onReverseThinking: OnReverseThinking | undefined;
  resolve(path: string): { readonly real: string; readonly exists: boolean };
  /** The handles of one call, narrowed to what was decided. */
  openHandles(options: HandleOptions): Pick<ToolContext, "files" | "search" | "processes" | "network" | "skills">;
  /** Finds out what commands would run in, where that is not known yet: the decision depends on it. */
  prepareCommands(): Promise<void>;
  /** Opens a file of the runtime's own. */
  openOwn(path: string): Promise<OpenedFile>;
  readonly undo: UndoKeeper;
}

interface HandleOptions {
  readonly commands: readonly NamedCommand[];
  /** A person said yes to this call. */
  readonly confirmed: boolean;
  /** Resolves when the start of the call is on the disk; rejects with `RecordFailed`. To be awaited before any change. */
  readonly recorded: () => Promise<void>;
  readonly touches: readonly ResolvedTouch[];
  readonly run_id: string;
  readonly tool_call_id: string;
  readonly signal: AbortSignal;
  /** Why a folder below one that was judged may not be looked into. */
  readonly judgeBelow: (real: string) => string | undefined;
}

/** The steps up to the decision need nothing of a run: they can be asked without one. */
export type DecidingParts = Omit<GateParts, "journal" | "folder" | "grants" | "quota">;

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
  readonly chat?: string;
  readonly user?: string;
}

export interface Progress {
  readonly tool_call_id: string;
  readonly fraction: number | null;
  readonly detail: string;
}

/** What a call carries from step to step. Each step fills in its part or throws. */
export interface GateCall {
  readonly request: ToolCallRequest;
  readonly options: CallOptions;
  readonly opened_ms: number;
  tool?: Tool;
  /** What the name or version that was used does to the arguments. */
  adapters: readonly ArgsAdapter[];
  args?: Readonly<Record<string, unknown>>;
  /** The arguments as the record shows them; made once, used by events, audit and approval. */
  params?: unknown;
  /** The same as events show it, once one has shown it. */
  short_params?: { readonly value: unknown };
  params_redacted: boolean;
  risk?: Risk;
  touches: readonly ResolvedTouch[];
  commands: readonly NamedCommand[];
  addresses: readonly NamedAddress[];
  /** Of a call that takes changes back: what it takes back, newest first. */
  undo_records: readonly UndoRecord[];
  decision?: Decision;
  approval?: { readonly approved: boolean; readonly scope: Scope | null; readonly by: string | null };
  reverse_thinking?: ReverseThinking;
  /** `event_id` of `tool_call.started`, once that is on record. */
  started?: string;
  /** Resolves when that is on the disk, where it has to be. */
  durable?: Promise<void> | undefined;
  output?: ToolOutput<unknown>;
}

export type Step = (call: GateCall, parts: GateParts) => Promise<void> | void;

/** An event about this call. `parent_id`: the start of the call once it is on record, else what the caller named. */
export function draftEvent(call: GateCall, type: EventType, payload: EventDraft["payload"], nowMs: number): EventDraft {
  const { request } = call;
  return {
    event_id: makeId("evt", nowMs),
    ts: new Date(nowMs).toISOString(),
    type,
    trace_id: request.trace_id,
    task_id: request.task_id ?? null,
    run_id: request.run_id,
    parent_id: call.started ?? request.parent_id ?? null,
    payload,
  };
}

/** A step before may not have run only where the list of steps is wrong. */
export function need<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`The gate's steps are out of order: ${what} is not known yet`);
  return value;
}

export function pathsOf(call: GateCall): readonly { readonly path: string; readonly access: Access }[] {
  return call.touches.map(({ path, access }) => ({ path, access }));
}
