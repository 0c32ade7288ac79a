import type { ApprovalKeeper } from "../contract/approvals.ts";
import type { OutputLimits } from "../contract/context.ts";
import type { Clock, OnApproval, OnCheckpoint, OnReverseThinking } from "../contract/host.ts";
import type { Journal, OpenJournal } from "../contract/journal.ts";
import type { MemoryKeeper } from "../contract/memory.ts";
import type { CommandLimits } from "../contract/processes.ts";
import type { Counts, QuotaHolder, QuotaKeeper } from "../contract/quotas.ts";
import type { Tool } from "../contract/tool.ts";
import type { CallOptions } from "../gate/parts.ts";
import type { InterruptedChange } from "../runs/interrupted.ts";
import type { RecordedCall, Redecided } from "../gate/decide-again.ts";
import type { IsTrusted } from "../machine/skills/load.ts";
import type { Decision, PolicyLayer, RuleOrigin } from "../policy/decide.ts";
import type { Suggestion } from "../policy/suggest.ts";
import type { Actor } from "../protocol/audit.ts";
import type { ToolCallInput } from "../protocol/call.ts";
import type { PolicyConfiguration, ProfileName, SandboxMode } from "../protocol/configuration.ts";
import type { RuntimeEvent } from "../protocol/event-record.ts";
import type { ToolCallResult } from "../protocol/result.ts";
import type { OnEvent } from "../runs/run-journals.ts";
import type { ToolInfo } from "../runs/tool-info.ts";

/** Options of `createRuntime`. Only `roots` is required. */
export interface RuntimeOptions {
  /** Absolute paths of the folders that tools may touch. */
  readonly roots: readonly string[];
  /** Base of relative paths; inside a root. Default: the first root. */
  readonly cwd?: string;
  /**
   * Where the record is stored, out of reach of all tools. Default: a folder in the user's state directory, named after
   * the working folder.
   */
  readonly state_dir?: string;
  /** For `tools()` and `explain()` only: creates no state folder, recovers nothing, and refuses calls. */
  readonly looking?: boolean;
  /** The policy profile. Default: `guarded`. */
  readonly profile?: ProfileName;
  /** Rules, tools, quotas, network and approvals of the policy. Default: none. */
  readonly config?: Partial<PolicyConfiguration>;
  /** The origin of each rule of `config`, in the same order, shown with its decisions. */
  readonly origins?: readonly (RuleOrigin | undefined)[];
  /** Policy layers of untrusted projects. Their rules can only tighten; `narrowBy` has applied the rest to `config`. */
  readonly projects?: readonly PolicyLayer[];
  /** Limits this runtime to some of the tools that the configuration and the profile allow. */
  readonly tools?: readonly string[];
  /** Additional tools of the host. They are governed like the built-in ones. */
  readonly more_tools?: readonly Tool[];
  /** Real paths of files that the host loads as its own code: changing one needs approval in every profile. */
  readonly own_files?: readonly string[];
  /**
   * Asks a person. Omitted: a call that needs approval is refused with `ApprovalRequired`, and its request stays
   * pending.
   */
  readonly onApproval?: OnApproval;
  /** Decides on calls of checkpoint tools. Omitted: they are refused. */
  readonly onCheckpoint?: OnCheckpoint;
  /** Challenges the calls of tools that require it. */
  readonly onReverseThinking?: OnReverseThinking;
  /** Values to redact, in addition to those of environment variables with secret names. */
  readonly known_secrets?: readonly string[];
  /** The default run of calls. Default: a new one. */
  readonly run_id?: string;
  /**
   * The caller resumes `run_id`: calls that a killed process left open there stay open, so that idempotent ones can be
   * repeated under their ids; `close()` ends the others. Default: they are ended as `Interrupted` at the start.
   */
  readonly resumes?: boolean;
  /** How much of a call's output is returned; the rest is stored. Default: see `DEFAULTS`. */
  readonly limits?: Partial<OutputLimits>;
  /** Timeout of a call. Default: 30 seconds. */
  readonly timeout_ms?: number;
  /** Allowed hosts: `example.com`, `*.example.com`, `example.com:8443`. Default: none. */
  readonly network?: { readonly allow: readonly string[] };
  /** The initially active skill: its `allowed-tools` restrict this runtime. */
  readonly skill?: string;
  /** Whether a person has trusted this content of a workspace skill. Default: no skill is trusted. */
  readonly isTrustedSkill?: IsTrusted;
  /** The sandbox for commands. Default: `auto`. */
  readonly sandbox?: SandboxMode;
  /** Default timeout of a command. */
  readonly bash_timeout_ms?: number;
  /** Default timeout of a skill script. */
  readonly script_timeout_ms?: number;
  /** Resource limits of a command. Default: derived from the machine (`machineLimits`). */
  readonly command_limits?: Partial<CommandLimits>;
  /** Patterns that no command may match, separated by commas or line breaks. */
  readonly bash_denylist?: string;
  /** How long an approval request stays pending. Default: one hour. */
  readonly approval_timeout_ms?: number;
  /** Stores requests and grants. Default: files in the state folder, shared with other processes. */
  readonly approvals?: ApprovalKeeper;
  /** The session whose grants apply, such as a chat. Default: each run is its own session. */
  readonly session?: string;
  /** Counts usage for quotas. Default: in memory, for the lifetime of the runtime. */
  readonly quotas?: QuotaKeeper;
  /** Stores memory entries across runs. Default: none, and `update_memory` is not offered. */
  readonly memory?: MemoryKeeper;
  /** Stores the record elsewhere than in a file. */
  readonly openJournal?: OpenJournal;
  /** Default: `Date.now`. */
  readonly clock?: Clock;
  /** Called with each event right after it was recorded, for live views; with the result of the call that it ends. */
  readonly onEvent?: OnEvent;
  /** The default requester, for the record. Default: this process's user and host, channel `library`. */
  readonly actor?: Partial<Actor>;
  /** Whether `onEvent` stores complete results: then the record has the sha256 of each. Default: false. */
  readonly keeps_results?: boolean;
  /** Additional words for the command line of a `replay`: `--root`, `/srv/work`. */
  readonly replay_options?: readonly string[];
}

/** Which events `Runtime.events` returns. Default: all of the runtime's own run. */
export interface EventFilter {
  readonly run_id?: string;
  /** Only events with a higher `seq`. */
  readonly after?: number;
}

/** Which changes `Runtime.changes` returns. Default: all of the runtime's own run. */
export interface ChangesFilter {
  readonly run_id?: string;
  /** Only these changes, by the `undo_id` of each. */
  readonly undo_ids?: readonly string[];
  /**
   * Returns instead what undoing them would change. Throws what the undo would throw: `Stale` if others changed a file
   * since.
   */
  readonly undone?: boolean;
  readonly signal?: AbortSignal;
}

/** The change of one file. */
export interface FileDiff {
  readonly path: string;
  /** A unified diff, redacted; one line in brackets if the file is binary or too large. */
  readonly diff: string;
  /** The diff was truncated. */
  readonly truncated: boolean;
}

/** Options of `Runtime.undo`. The ids are those of the undo call. */
export type UndoOptions = CallOptions &
  Pick<ToolCallInput, "tool_call_id" | "task_id" | "trace_id"> & {
    /** Overwrites later changes by others. */
    readonly force?: boolean;
  };

/** A decision, with suggestions that would change it. */
export interface Explanation extends Decision {
  /** Closest first; empty if the decision is ALLOW. */
  readonly suggestions: readonly Suggestion[];
}

/** A governed runtime, created by `createRuntime`. Every call, from any caller, goes through the same steps. */
export interface Runtime {
  /** The default run of calls. */
  readonly run_id: string;
  /** Where the record is stored. */
  readonly state_dir: string;
  /** The default requester. */
  readonly actor: Actor;
  /** Makes one governed call. Never throws: every outcome is a result. */
  call(request: ToolCallInput, options?: CallOptions): Promise<ToolCallResult>;
  /** Makes several calls: adjacent concurrency-safe ones in parallel, the rest in order; results in request order. */
  callAll(requests: readonly ToolCallInput[], options?: CallOptions): Promise<readonly ToolCallResult[]>;
  /** The policy's decision. Runs nothing and records nothing. */
  explain(request: ToolCallInput, options?: CallOptions): Promise<Explanation>;
  /** What this runtime's policy would have decided for a recorded call. Reads nothing but the record. */
  decideAgain(record: RecordedCall): Promise<Redecided>;
  /** Undoes the change with that `undo_id`, or all changes of that run, as a governed call of `undo`. Never throws. */
  undo(id: string, options?: UndoOptions): Promise<ToolCallResult>;
  /** The net changes of a run: its files before compared with now. Changes and records nothing. */
  changes(filter?: ChangesFilter): Promise<readonly FileDiff[]>;
  /** The recorded changes of a call of this run whose process was killed. */
  interruptedChange(tool_call_id: string): Promise<InterruptedChange | undefined>;
  /** The tools in force for calls of a task, or for calls without one. */
  tools(of?: { readonly task_id?: string }): readonly ToolInfo[];
  /**
   * Activates a skill for this run, or for one of its tasks, as if its SKILL.md had been read: recorded, and active
   * again when the run is resumed. Throws if the skill does not exist or is not trusted.
   */
  useSkill(name: string, options?: { readonly task_id?: string }): Promise<void>;
  /** Adds a tool of the host. It is governed like the built-in ones. */
  register(tool: Tool): void;
  /** The recorded events of a run. */
  events(filter?: EventFilter): AsyncIterable<RuntimeEvent>;
  /** The record of this runtime's own run, for hosts that write their own events. Created with the first event. */
  readonly journal: Journal;
  /** Requests and grants of this runtime, and of others that use the same store. */
  readonly approvals: ApprovalKeeper;
  /** Counts usage outside of calls, such as model tokens. The next call over a quota is refused. */
  charge(counts: Counts, holder?: Partial<QuotaHolder>): Promise<void>;
  /** The redactor for everything that leaves this runtime; it knows the runtime's secrets. */
  redact(text: string): { readonly text: string; readonly redacted: boolean };
  /** The same for every string in a JSON value. */
  redactValue(value: unknown): { readonly value: unknown; readonly redacted: boolean };
  /** Stops everything that the runtime started. No calls are possible afterwards. */
  close(): Promise<void>;
}
