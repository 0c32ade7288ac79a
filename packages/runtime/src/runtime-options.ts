import type { ApprovalKeeper } from "./contract/approvals.ts";
import type { OutputLimits } from "./contract/context.ts";
import type { Clock, OnApproval, OnCheckpoint, OnReverseThinking } from "./contract/host.ts";
import type { Journal, OpenJournal } from "./contract/journal.ts";
import type { MemoryKeeper } from "./contract/memory.ts";
import type { CommandLimits } from "./contract/processes.ts";
import type { Counts, QuotaHolder, QuotaKeeper } from "./contract/quotas.ts";
import type { Tool } from "./contract/tool.ts";
import type { CallOptions } from "./gate/call.ts";
import type { InterruptedChange } from "./gate/interrupted.ts";
import type { RecordedCall, Redecided } from "./gate/decide-again.ts";
import type { IsTrusted } from "./machine/skills/load.ts";
import type { Decision, PolicyLayer, RuleOrigin } from "./policy/decide.ts";
import type { Suggestion } from "./policy/suggest.ts";
import type { Actor } from "./protocol/audit.ts";
import type { ToolCallInput } from "./protocol/call.ts";
import type { PolicyConfiguration, ProfileName, SandboxMode } from "./protocol/configuration.ts";
import type { RuntimeEvent } from "./protocol/event-record.ts";
import type { ToolCallResult } from "./protocol/result.ts";
import type { OnEvent } from "./run-journals.ts";
import type { ToolInfo } from "./tool-info.ts";

/** What `createRuntime` takes. Only `roots` is required. */
export interface RuntimeOptions {
  /** Absolute paths of the folders that tools may touch. */
  readonly roots: readonly string[];
  /** What relative paths are relative to; inside a root. Default: the first root. */
  readonly cwd?: string;
  /** Where the record is kept, out of every tool's reach. Default: a folder of the user's state directory, named after the working folder. */
  readonly state_dir?: string;
  /** For `tools()` and `explain()` only: makes no state folder, puts nothing in order, and refuses calls. */
  readonly looking?: boolean;
  /** The defaults of the policy. Default: `guarded`. */
  readonly profile?: ProfileName;
  /** Rules, tools, quotas, network and approvals of the policy. Default: none. */
  readonly config?: Partial<PolicyConfiguration>;
  /** Where each rule of `config` stands, in their order, to be told with what it decides. */
  readonly origins?: readonly (RuleOrigin | undefined)[];
  /** What projects say that nobody has trusted. Their rules can only tighten; `narrowBy` has narrowed `config` by the rest. */
  readonly projects?: readonly PolicyLayer[];
  /** Narrows this runtime to some of the tools that the configuration and the profile leave in force. */
  readonly tools?: readonly string[];
  /** Tools of the host's own, registered from the start. They are governed like the built-in ones. */
  readonly more_tools?: readonly Tool[];
  /** Real paths of files that the host loads as its own code: changing one is asked for, whatever the profile. */
  readonly own_files?: readonly string[];
  /** Asks a person. Left out: a call that needs approval is refused with `ApprovalRequired`, and its request stays. */
  readonly onApproval?: OnApproval;
  /** Decides on calls of checkpoint tools. Left out: they are refused. */
  readonly onCheckpoint?: OnCheckpoint;
  /** Challenges calls of tools that ask for it. */
  readonly onReverseThinking?: OnReverseThinking;
  /** Values that never leave, beside those of the environment's secret-named variables. */
  readonly known_secrets?: readonly string[];
  /** The run that calls belong to when they name none. Default: a new one. */
  readonly run_id?: string;
  /**
   * The caller resumes `run_id`: calls that a killed process left open there stay open, so that idempotent ones can be
   * made again under their ids; `close()` ends those that were not. Default: the start ends them as `Interrupted`.
   */
  readonly resumes?: boolean;
  /** How much of a call's output is returned; the rest is stored. Default: those of `DEFAULTS`. */
  readonly limits?: Partial<OutputLimits>;
  /** How long a call may take. Default: 30 seconds. */
  readonly timeout_ms?: number;
  /** Names that may be asked over the network: `example.com`, `*.example.com`, `example.com:8443`. Default: none. */
  readonly network?: { readonly allow: readonly string[] };
  /** The skill that is at work: its `allowed-tools` narrow this runtime. */
  readonly skill?: string;
  /** Whether a person has trusted a skill that came with the workspace, with this content. Default: none is. */
  readonly isTrustedSkill?: IsTrusted;
  /** What commands run in. Default: `auto`. */
  readonly sandbox?: SandboxMode;
  /** How long a command may take where a call does not say. */
  readonly bash_timeout_ms?: number;
  /** How long a script of a skill may take where a call does not say. */
  readonly script_timeout_ms?: number;
  /** What a command may take of the machine. Default: what fits the machine (`machineLimits`). */
  readonly command_limits?: Partial<CommandLimits>;
  /** Patterns of words that no command may match, between commas or line breaks. */
  readonly bash_denylist?: string;
  /** How long a request for approval waits. Default: one hour. */
  readonly approval_timeout_ms?: number;
  /** Where requests and grants are kept. Default: files in the state folder, which other processes share. */
  readonly approvals?: ApprovalKeeper;
  /** Whose grants for a session count, such as a chat. Default: each run is its own. */
  readonly session?: string;
  /** Where use is counted that quotas limit. Default: in memory, for as long as the runtime lives. */
  readonly quotas?: QuotaKeeper;
  /** Where what is learnt is kept for later runs. Default: nowhere, and `update_memory` is not offered. */
  readonly memory?: MemoryKeeper;
  /** Where the record goes instead of a file. */
  readonly openJournal?: OpenJournal;
  /** Default: `Date.now`. */
  readonly clock?: Clock;
  /** Told of each event right after it was recorded, for live views; with the result of the call that it ends. */
  readonly onEvent?: OnEvent;
  /** Who asks, for the record, where a call does not say. Default: this process's user and host, channel `library`. */
  readonly actor?: Partial<Actor>;
  /** Whether `onEvent` keeps results whole: then the record has the sha256 of each. Default: false. */
  readonly keeps_results?: boolean;
  /** What the command of a `replay` needs beside the call, word by word: `--root`, `/srv/work`. */
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
  /** What undoing them would change instead. Throws what the undo would throw: `Stale` where others changed a file since. */
  readonly undone?: boolean;
  readonly signal?: AbortSignal;
}

/** What became of one file. */
export interface FileDiff {
  readonly path: string;
  /** A unified diff, redacted; one line in brackets where the file is not text, or too large. */
  readonly diff: string;
  /** The diff is longer than is returned. */
  readonly truncated: boolean;
}

/** Options of `Runtime.undo`. The ids are those of the call that it makes. */
export type UndoOptions = CallOptions &
  Pick<ToolCallInput, "tool_call_id" | "task_id" | "trace_id"> & {
    /** Restores over what others changed since. */
    readonly force?: boolean;
  };

/** A decision, with what would change it. */
export interface Explanation extends Decision {
  /** The nearest first; nothing where it is ALLOW. */
  readonly suggestions: readonly Suggestion[];
}

/** A governed runtime, made by `createRuntime`. Every call goes through the same steps, whoever makes it. */
export interface Runtime {
  /** The run that calls belong to when they name none. */
  readonly run_id: string;
  /** Where the record is kept. */
  readonly state_dir: string;
  /** Who asks where a call does not say. */
  readonly actor: Actor;
  /** Makes one governed call. Never throws: every outcome is a result. */
  call(request: ToolCallInput, options?: CallOptions): Promise<ToolCallResult>;
  /** Makes several: neighbours that may run beside others do so, the rest in order; results in the order asked. */
  callAll(requests: readonly ToolCallInput[], options?: CallOptions): Promise<readonly ToolCallResult[]>;
  /** What the policy would say. Runs nothing and records nothing. */
  explain(request: ToolCallInput, options?: CallOptions): Promise<Explanation>;
  /** What the policy of this runtime would have said of a recorded call. Looks at nothing but the record. */
  decideAgain(record: RecordedCall): Promise<Redecided>;
  /** Takes back the change of that `undo_id`, or all changes of that run: a governed call of `undo`. Never throws. */
  undo(id: string, options?: UndoOptions): Promise<ToolCallResult>;
  /** What the changes of a run amount to: its files as they were before, compared with now. Changes and records nothing. */
  changes(filter?: ChangesFilter): Promise<readonly FileDiff[]>;
  /** What a call of this run changed whose process was killed, as far as it is on record. */
  interruptedChange(tool_call_id: string): Promise<InterruptedChange | undefined>;
  /** The tools in force: for calls of a task, or for those without one. */
  tools(of?: { readonly task_id?: string }): readonly ToolInfo[];
  /**
   * Lets a skill restrict this run, or one task of it, as if its SKILL.md had been read: recorded, and in force again where
   * the run is resumed. Throws where there is no such skill, or it is not trusted.
   */
  useSkill(name: string, options?: { readonly task_id?: string }): Promise<void>;
  /** Adds a tool of the host's own. It is governed like the built-in ones. */
  register(tool: Tool): void;
  /** What is on record of a run so far. */
  events(filter?: EventFilter): AsyncIterable<RuntimeEvent>;
  /** The record of this runtime's own run, for a host that has events of its own to write. Made at the first event. */
  readonly journal: Journal;
  /** Requests and grants: those of this runtime, and of others that keep theirs in the same place. */
  readonly approvals: ApprovalKeeper;
  /** Counts what is used beside calls, such as the tokens of a model. The next call over a quota is refused. */
  charge(counts: Counts, holder?: Partial<QuotaHolder>): Promise<void>;
  /** The redactor that everything of this runtime passes; it knows the runtime's secrets. */
  redact(text: string): { readonly text: string; readonly redacted: boolean };
  /** The same for every text in a JSON value. */
  redactValue(value: unknown): { readonly value: unknown; readonly redacted: boolean };
  /** Ends everything that the runtime started. Nothing can be called afterwards. */
  close(): Promise<void>;
}
