import type { ApprovalKeeper } from "../contract/approvals.ts";
import type { Cursors, OpenedFile, OutputLimits, PlannedFile, ToolContext } from "../contract/context.ts";
import type { Clock, OnApproval, OnCheckpoint, OnReverseThinking } from "../contract/host.ts";
import type { Journal, RunFolder } from "../contract/journal.ts";
import type { MemoryKeeper } from "../contract/memory.ts";
import type { SkillScript, SkillEntry } from "../contract/skills.ts";
import type { ScriptTouch } from "../contract/tool.ts";
import type { UndoKeeper } from "../contract/undo-keeper.ts";
import type { ClosedPaths } from "../policy/paths/closed-paths.ts";
import type { DecisionSettings, NamedCommand, ResolvedTouch, WorkspaceContext } from "../policy/decide.ts";
import type { TrackedFiles } from "../policy/facts.ts";
import type { Actor } from "../protocol/audit.ts";
import type { Redactor } from "../redact/redact.ts";
import type { Quotas } from "./quota/quota.ts";
import type { Registry } from "./registry.ts";
import type { ActiveSkill, ActiveSkills } from "./steps/active-skills.ts";

/** The dependencies of the gate. Created once by `runtime.ts`; shared by all calls of a run. */
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
  /** Stores requests and grants. */
  readonly approvals: ApprovalKeeper;
  /** The session whose grants apply in addition to those of the run. Undefined: only the run's own. */
  readonly session: string | undefined;
  readonly quotas: Quotas;
  /** Default actor of calls, redacted. */
  readonly actor: Actor;
  /** The host stores complete results, so the record has the sha256 of each. */
  readonly keeps_results: boolean;
  /** Undefined: no memory across runs. */
  readonly memory: MemoryKeeper | undefined;
  /** Whether a journal with `commits` does so for these stores too: they must share its transaction. */
  readonly host_keeps: { readonly approvals: boolean; readonly quotas: boolean };
  /** Additional words for the command line of a `replay`. */
  readonly replay_options: readonly string[];
  /** Host names that network access may reach. */
  readonly network_allow: readonly string[];
  /** Patterns that no command may match, separated by commas or line breaks. */
  readonly denylist: string;
  /** Binds an approval to the policy that required it. */
  policyVersion(): string;
  readonly onApproval: OnApproval | undefined;
  readonly onCheckpoint: OnCheckpoint | undefined;
  readonly onReverseThinking: OnReverseThinking | undefined;
  /** A real path as shown relative to the working folder. */
  pathFor(real: string): string;
  resolve(path: string): { readonly real: string; readonly exists: boolean };
  /** The files that git tracks in the repository around a folder. Undefined: none, or not readable. */
  trackedIn(folder: string): TrackedFiles | undefined;
  /** The handles of one call, limited to what the decision allows. */
  openHandles(options: HandleOptions): Pick<ToolContext, "files" | "search" | "processes" | "network" | "skills">;
  /**
   * Fingerprint of a real path, to detect changes later: `sha256:…` of a file's content, other text for special or very
   * large files, null if nothing exists.
   */
  baseOf(real: string, signal: AbortSignal): Promise<string | null>;
  /** The current content of the script that a call would run. */
  findScript(touch: ScriptTouch, signal: AbortSignal | undefined): Promise<SkillScript>;
  /** The real folder of the user's own skill that contains a real path; undefined if none does. */
  ownSkillAround(real: string): Promise<string | undefined>;
  /** The current trusted skill whose SKILL.md is at this real path. */
  findSkillAt(real: string): Promise<SkillEntry | undefined>;
  /** The tools that a skill allows. */
  limitsOf(skill: SkillEntry): Promise<Omit<ActiveSkill, "reason">>;
  /** Determines the sandbox for commands if it is not known yet: the decision depends on it. */
  prepareCommands(): Promise<void>;
  /** Opens one of the runtime's own files. */
  openOwn(path: string): Promise<OpenedFile>;
  readonly undo: UndoKeeper;
}

interface HandleOptions {
  readonly commands: readonly NamedCommand[];
  /** A person approved this call. */
  readonly confirmed: boolean;
  /** The paths that rules close to its commands. */
  readonly closedPaths: () => Promise<ClosedPaths | undefined>;
  /** Resolves when the start of the call is on disk; rejects with `RecordFailed`. Await it before any change. */
  readonly recorded: () => Promise<void>;
  readonly touches: readonly ResolvedTouch[];
  readonly run_id: string;
  readonly tool_call_id: string;
  readonly signal: AbortSignal;
  /** Why a subfolder of an evaluated folder may not be read; undefined if it may. */
  readonly judgeBelow: (real: string) => string | undefined;
  /** If set, files are not changed; receives the planned changes. */
  readonly onPlanned?: (files: readonly PlannedFile[]) => void;
}

/** The steps up to the decision work without a run. */
export type DecidingParts = Omit<GateParts, "journal" | "folder" | "active">;

/** Options of a call in addition to its request. */
export interface CallOptions {
  /** Cancels the call. */
  readonly signal?: AbortSignal;
  /** Receives progress reports. */
  readonly onProgress?: (progress: Progress) => void;
  /** The requesting chat: rules, quotas and grants may name it. */
  readonly chat?: string;
  /** The requesting user: rules and quotas may name them. */
  readonly user?: string;
  /** The channel of the request, such as `telegram`: for the record. */
  readonly channel?: string;
  /** The requesting model: for the record. */
  readonly model?: string;
}

/** Progress of a call; `fraction` is null if unknown. */
export interface Progress {
  readonly tool_call_id: string;
  readonly fraction: number | null;
  readonly detail: string;
  /** `detail` is the next chunk of command output on this stream. */
  readonly output?: "stdout" | "stderr";
}
