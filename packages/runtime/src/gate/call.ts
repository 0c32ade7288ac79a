import type { ApprovalKeeper } from "../contract/approvals.ts";
import type { Cursors, OpenedFile, OutputLimits, PlannedFile, ToolContext } from "../contract/context.ts";
import type { MemoryKeeper } from "../contract/memory.ts";
import type { AttachedFile } from "../protocol/attachment.ts";
import type { Clock, OnApproval, OnCheckpoint, OnReverseThinking } from "../contract/host.ts";
import type { Journal, RunFolder } from "../contract/journal.ts";
import type { FoundScript, SkillEntry } from "../contract/skills.ts";
import type { Access, ArgsAdapter, ScriptTouch, Tool, ToolOutput } from "../contract/tool.ts";
import type { UndoKeeper, UndoRecord } from "../contract/undo.ts";
import type { ClosedPaths } from "../policy/closed-paths.ts";
import type {
  Decision,
  DecisionSettings,
  NamedAddress,
  NamedCommand,
  ResolvedTouch,
  WorkspaceContext,
} from "../policy/decide.ts";
import type { TrackedFiles } from "../policy/facts.ts";
import type { Scope } from "../protocol/decision.ts";
import { boundActor } from "../protocol/audit.ts";
import type { Actor } from "../protocol/audit.ts";
import type { ReverseThinking } from "../protocol/approval.ts";
import type { Risk, ToolCallRequest } from "../protocol/call.ts";
import type { EventDraft } from "../protocol/event-record.ts";
import type { EventType } from "../protocol/events.ts";
import { makeId } from "../protocol/ids.ts";
import type { Redactor } from "../redact/redact.ts";
import type { ActiveSkill, ActiveSkills } from "./active-skills.ts";
import type { Bases, BoundScript } from "./digest.ts";
import type { ProgressRecord } from "./progress-record.ts";
import type { Quotas } from "./quota.ts";
import type { Registry } from "./registry.ts";

/** What the gate works with. Made once by `runtime.ts`; the same for every call of a run. */
export interface GateParts {
  readonly registry: Registry;
  readonly journal: Journal;
  readonly folder: RunFolder;
  /** The skills that restrict the calls of the run. */
  readonly active: ActiveSkills;
  readonly workspace: WorkspaceContext;
  readonly settings: DecisionSettings;
  readonly redactor: Redactor;
  readonly cursors: Cursors;
  readonly limits: OutputLimits;
  readonly timeout_ms: number;
  readonly approval_timeout_ms: number;
  readonly clock: Clock;
  readonly cwd: string;
  /** Where requests and grants are kept. */
  readonly approvals: ApprovalKeeper;
  /** Whose grants count beside those of the run. Undefined: the run's own. */
  readonly session: string | undefined;
  readonly quotas: Quotas;
  /** Who asks where a call does not say, without secrets. */
  readonly actor: Actor;
  /** The host keeps results whole, so the record has the sha256 of each. */
  readonly keeps_results: boolean;
  /** Undefined: nothing is kept for later runs. */
  readonly memory: MemoryKeeper | undefined;
  /** Whether a journal that commits does so for these keepers: they have to be of the same maker. */
  readonly host_keeps: { readonly approvals: boolean; readonly quotas: boolean };
  /** What the command of a `replay` needs beside the call, word by word. */
  readonly replay_options: readonly string[];
  /** Names that may be asked over the network. */
  readonly network_allow: readonly string[];
  /** Patterns of words that no command may match, between commas or line breaks. */
  readonly denylist: string;
  /** Binds an approval to the policy that asked for it. */
  policyVersion(): string;
  readonly onApproval: OnApproval | undefined;
  readonly onCheckpoint: OnCheckpoint | undefined;
  readonly onReverseThinking: OnReverseThinking | undefined;
  /** A real path as it is called from the working folder. */
  pathFor(real: string): string;
  resolve(path: string): { readonly real: string; readonly exists: boolean };
  /** What git knows in the repository that a folder lies in. Undefined: nothing, or it cannot be read. */
  trackedIn(folder: string): TrackedFiles | undefined;
  /** The handles of one call, narrowed to what was decided. */
  openHandles(options: HandleOptions): Pick<ToolContext, "files" | "search" | "processes" | "network" | "skills">;
  /**
   * What is at a real path, so that it can be told later whether it is the same: `sha256:…` of a file's content, other
   * text for what has none or is very large, null for nothing.
   */
  baseOf(real: string, signal: AbortSignal): Promise<string | null>;
  /** The script that a call would run, as it is now. */
  findScript(touch: ScriptTouch, signal: AbortSignal | undefined): Promise<FoundScript>;
  /** The real folder of the user's own skill that a real path leads into; undefined where there is none. */
  ownSkillAround(real: string): Promise<string | undefined>;
  /** The trusted skill whose SKILL.md lies at this real path, as it is now. */
  findSkillAt(real: string): Promise<SkillEntry | undefined>;
  /** What a skill leaves of the tools. */
  limitsOf(skill: SkillEntry): Promise<Omit<ActiveSkill, "reason">>;
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
  /** What rules close to its commands. */
  readonly closedPaths: () => Promise<ClosedPaths | undefined>;
  /** Resolves when the start of the call is on the disk; rejects with `RecordFailed`. To be awaited before any change. */
  readonly recorded: () => Promise<void>;
  readonly touches: readonly ResolvedTouch[];
  readonly run_id: string;
  readonly tool_call_id: string;
  readonly signal: AbortSignal;
  /** Why a folder below one that was judged may not be looked into. */
  readonly judgeBelow: (real: string) => string | undefined;
  /** Given: files are not changed. What the call would change is told here. */
  readonly onPlanned?: (files: readonly PlannedFile[]) => void;
}

/** The steps up to the decision need nothing of a run: they can be asked without one. */
export type DecidingParts = Omit<GateParts, "journal" | "folder" | "active">;

/** What a caller can say beside the request of a call. */
export interface CallOptions {
  /** Cancels the call. */
  readonly signal?: AbortSignal;
  /** Told how far the call is. */
  readonly onProgress?: (progress: Progress) => void;
  /** The chat that asks: rules, quotas and grants may name it. */
  readonly chat?: string;
  /** The user who asks: rules and quotas may name them. */
  readonly user?: string;
  /** The channel that the request came by, such as `telegram`: for the record. */
  readonly channel?: string;
  /** The model that asks: for the record. */
  readonly model?: string;
}

/** How far a call is; `fraction` is null where that is not known. */
export interface Progress {
  readonly tool_call_id: string;
  readonly fraction: number | null;
  readonly detail: string;
  /** The detail is the next piece of what a command prints, on this stream. */
  readonly output?: "stdout" | "stderr";
}

/** What a call carries from step to step. Each step fills in its part or throws. */
export interface GateCall {
  /** With the arguments that a person put in place of the caller's, where one did. */
  request: ToolCallRequest;
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
  /** It only brings back what was there before the changes of a run. */
  restores: boolean;
  decision?: Decision;
  approval?: { readonly approved: boolean; readonly scope: Scope | null; readonly by: string | null };
  /** The granted request that the start of this call uses up. */
  approval_id?: string;
  /** Lets other calls of this process have the requests that this one waited for. Called when its steps are over. */
  release_approval?: () => void;
  /** What the files held when a person said yes: no others are changed. */
  bases?: Bases;
  /** The script that a person said yes to: no other is run. */
  script?: BoundScript | undefined;
  /** Skills whose text the call has given out. */
  read_skills: readonly SkillEntry[];
  /** A person put other arguments in place of the caller's. */
  is_edited: boolean;
  /** How long a person or a hook was waited for. */
  waited_ms: number;
  bytes_written: number;
  /** Files for whoever asked. */
  attachments: readonly AttachedFile[];
  /** A secret was replaced in what it printed or attached, while that came. */
  is_output_redacted: boolean;
  reverse_thinking?: ReverseThinking;
  /** `event_id` of `tool_call.started`, once that is on record. */
  started?: string;
  /** Resolves when that is on the disk, where it has to be. */
  durable?: Promise<void> | undefined;
  output?: ToolOutput<unknown>;
  /** How far the tool said it is; made when it first says so. */
  progress?: ProgressRecord;
  /** Its end is being recorded: a tool that was left behind adds nothing to it. */
  is_over?: true;
  /** Files of the run's folder that this call stored, with their sha256: the record vouches for them. */
  stored: Readonly<Record<string, string>>;
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

/** Who asked for this call, without secrets and within bounds. */
export function actorOf(
  { options }: Pick<GateCall, "options">,
  { actor, redactor }: Pick<GateParts, "actor" | "redactor">,
): Actor {
  const { user, chat, channel, model } = options;
  if (user === undefined && chat === undefined && channel === undefined && model === undefined) return actor;
  const told = { user: user ?? actor.user, chat: chat ?? actor.chat, channel: channel ?? actor.channel };
  const named = { ...told, model: model ?? actor.model, host: actor.host };
  return boundActor(redactor.redactValue(named).value as Actor);
}

/** A step before may not have run only where the list of steps is wrong. */
export function need<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`The gate's steps are out of order: ${what} is not known yet`);
  return value;
}

export function pathsOf(call: GateCall): readonly { readonly path: string; readonly access: Access }[] {
  return call.touches.map(({ path, access }) => ({ path, access }));
}
