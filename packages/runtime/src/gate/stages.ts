import type { AttachedFile } from "../protocol/attachment.ts";
import type { SkillEntry } from "../contract/skills.ts";
import type { ArgsAdapter, Tool, ToolOutput } from "../contract/tool.ts";
import type { UndoRecord } from "../contract/undo-keeper.ts";
import type { Decision, NamedAddress, NamedCommand, ResolvedTouch } from "../policy/decide.ts";
import type { Scope } from "../protocol/decision.ts";
import type { ReverseThinking } from "../protocol/approval.ts";
import type { Risk, ToolCallRequest } from "../protocol/call.ts";
import { unlessAborted } from "../protocol/pause.ts";
import type { ToolCallResult } from "../protocol/result.ts";
import type { Bases, BoundScript } from "./approval/digest.ts";
import type { ProgressRecord } from "./context/progress-record.ts";
import type { CallOptions } from "./parts.ts";

/*
 * The stages of a call. Each step takes one and returns the next, which has all of it and more:
 *
 *   Opened -> Identified -> Checked -> Resolved -> Admitted -> Decided -> Permitted -> Approved -> Started -> Executed
 *                                                                          \-> Refused                         -> Settled
 *
 * A call that stops is settled from the furthest stage that it reached.
 */

/** A request that was read. */
export interface Opened {
  readonly attempt: Attempt;
  readonly request: ToolCallRequest;
  readonly options: CallOptions;
  /** A person replaced the caller's arguments. */
  readonly is_edited: boolean;
}

/** After step 1. */
export interface Identified extends Opened {
  readonly tool: Tool;
  /** Argument conversions for the name or version used. */
  readonly adapters: readonly ArgsAdapter[];
}

/** After step 2. */
export interface Checked extends Identified {
  readonly args: Readonly<Record<string, unknown>>;
  /** The arguments as recorded (redacted). */
  readonly params: unknown;
  readonly params_redacted: boolean;
  readonly risk: Risk;
}

/** In step 3, once the paths are resolved. */
export interface Resolved extends Checked {
  /** What the tool declares for these arguments. */
  readonly declared: ReturnType<Tool["touches"]>;
  readonly touches: readonly ResolvedTouch[];
  /** For undo calls: the changes to undo, newest first. */
  readonly undo_records: readonly UndoRecord[];
  /** The call only restores what existed before the changes of a run. */
  readonly restores: boolean;
}

/** After step 3. */
export interface Admitted extends Resolved {
  readonly commands: readonly NamedCommand[];
  readonly addresses: readonly NamedAddress[];
}

/** After step 4. */
export interface Decided extends Admitted {
  readonly decision: Decision;
}

/** The policy does not deny it. */
export interface Permitted extends Decided {
  readonly decision: Decision & { readonly effect: Exclude<Decision["effect"], "DENY"> };
}

/** Step 6 ended with a no. */
export interface Refused extends Permitted {
  readonly approval: { readonly approved: false; readonly scope: null; readonly by: string | null };
}

/** After step 6. */
export interface Approved extends Permitted {
  /** Null: the policy allows the call without approval. */
  readonly approval: Consent | null;
}

/** A yes: of a person, a grant, the configuration, the checkpoint handler or reverse thinking. */
export interface Consent {
  readonly approved: true;
  readonly scope: Scope;
  readonly by: string | null;
  /** The granted request that the start of the call consumes. */
  readonly approval_id: string | null;
  /** Only these versions of the files may be changed. Empty: not bound to any. */
  readonly bases: Bases;
  /** Only this content of the script may run. Null: not bound to any. */
  readonly script: BoundScript | null;
}

/** For a yes that does not depend on the content of files. */
export const NOTHING_BOUND: Pick<Consent, "approval_id" | "bases" | "script"> = {
  approval_id: null,
  bases: {},
  script: null,
};

/** After step 8. */
export interface Started extends Approved {
  /** `event_id` of `tool_call.started`. */
  readonly started: string;
  /** Resolves when the start is on disk; null if the step waited for that, or nothing has to. */
  readonly durable: Promise<void> | null;
}

/** After step 9. */
export interface Executed extends Started {
  readonly output: ToolOutput<unknown>;
}

/** Any stage that a call can stop at. */
export type Stage =
  | Opened
  | Identified
  | Checked
  | Resolved
  | Admitted
  | Decided
  | Permitted
  | Refused
  | Approved
  | Started
  | Executed;

/** After step 10, whatever the outcome. */
export interface Settled {
  readonly call: Stage;
  readonly result: ToolCallResult;
  /** Details of an unexpected error, for the record only: they may describe the host, so the caller does not see them. */
  readonly cause: string | null;
}

/** What the stages of one attempt to make a call share: how far it got, and what adds up on the way. */
export class Attempt {
  readonly opened_ms: number;
  /** The furthest stage. */
  reached: Stage;
  /** Time spent waiting for a person or a hook. */
  waited_ms = 0;
  /** The verdict of step 7. Null: not challenged. */
  reverse_thinking: ReverseThinking | null = null;
  bytes_written = 0;
  /** Skills whose text this call returned. */
  read_skills: readonly SkillEntry[] = [];
  /** Files for the requester. */
  attachments: readonly AttachedFile[] = [];
  /** A secret was redacted in streamed output or attachments. */
  is_output_redacted = false;
  /** Files that this call stored in the run's folder, with their sha256, covered by the record. */
  stored: Readonly<Record<string, string>> = {};
  /** The shortened arguments for events, of the last arguments they were needed for. */
  short_params: { readonly of: unknown; readonly json: string; readonly value: unknown } | null = null;
  /** Created on the first progress report. */
  progress: ProgressRecord | null = null;
  /** The end is being recorded: a tool that still runs adds nothing to it. */
  is_over = false;
  readonly #releases: (() => void)[] = [];

  constructor(request: ToolCallRequest, options: CallOptions, opened_ms: number) {
    this.opened_ms = opened_ms;
    this.reached = { attempt: this, request, options, is_edited: false };
  }

  /** Calls `release` after the last step. */
  onEnd(release: () => void): void {
    this.#releases.push(release);
  }

  end(): void {
    for (const release of this.#releases) release();
  }
}

/** Waits for a person or a hook, unless the call is cancelled. This time does not count as the call's own. */
export async function waitFor<T>(
  { attempt, options: { signal } }: Opened,
  clock: () => number,
  work: () => Promise<T> | T,
): Promise<T> {
  signal?.throwIfAborted();
  const began = clock();
  try {
    return await (signal === undefined ? work() : unlessAborted((async () => await work())(), signal));
  } finally {
    attempt.waited_ms += Math.max(0, clock() - began);
  }
}
