import { makeId, makeTraceId } from "@autonous/runtime";
import type {
  AppendOptions,
  CallOptions,
  ErrorCode,
  EventDraft,
  EventType,
  Runtime,
  ToolCallResult,
} from "@autonous/runtime";
import type { Message, ModelProvider } from "../model/provider.ts";
import type { AgentLimits } from "./limits.ts";
import { readRecord } from "./resume.ts";
import type { AgentRecord } from "./resume.ts";

interface AgentTask {
  readonly text: string;
  /** A task that has an id, and of which the run's journal knows already, is taken up where it was. Default: a new task. */
  readonly task_id?: string;
  /** `event_id` of the `task.started` or `task.queued` that this belongs to. */
  readonly parent_id?: string;
  readonly trace_id?: string;
  /** Where the task comes from and who asked: rules and quotas may speak of them. */
  readonly chat?: string;
  readonly user?: string;
}

export interface AgentOptions {
  readonly runtime: Pick<Runtime, "run_id" | "callAll" | "tools" | "journal" | "redact" | "redactValue">;
  readonly provider: ModelProvider;
  readonly task: AgentTask;
  readonly limits: AgentLimits;
  readonly signal?: AbortSignal;
  /** The whole result of a call that ended before, where somebody kept it. Without it the event has to do. */
  readonly storedResult?: (tool_call_id: string) => Promise<ToolCallResult | undefined>;
  /** Told when asking the model gives way to making calls, and the other way round. */
  readonly onState?: (state: RoundState) => Promise<void>;
  /** How far calls are, for live views. */
  readonly onProgress?: CallOptions["onProgress"];
  readonly clock?: () => number;
}

type RoundState = "model_round" | "tool_round";

export interface AgentOutcome {
  /** `parked`: a call waits for a person. The same task, run again once they have answered, goes on from there. */
  readonly outcome: "completed" | "failed" | "cancelled" | "parked";
  /** Empty unless completed. */
  readonly answer: string;
  readonly error?: { readonly code: ErrorCode; readonly message: string };
  readonly turns: number;
  readonly calls: number;
}

/** What the loop knows while it runs: the record of before, and what came of it since. */
export interface Run {
  readonly options: AgentOptions;
  readonly signal: AbortSignal;
  readonly record: AgentRecord;
  readonly trace_id: string;
  readonly task_id: string;
  readonly messages: Message[];
  /** What became of each call, in words. */
  readonly done: string[];
  /** Turns of this attempt. */
  turns: number;
  /** Model rounds of the task, those that failed and those of earlier attempts too. */
  rounds: number;
  invalidInARow: number;
  now(): number;
  redact(text: string): string;
  enter(state: RoundState): Promise<void>;
  write(event: NewEvent): Promise<string>;
}

interface NewEvent {
  readonly type: EventType;
  /** `event_id` of the start of what this is a part of. */
  readonly parent_id: string | null;
  /** Redacted. */
  readonly payload: EventDraft["payload"];
  readonly options?: AppendOptions;
}

/** Looks up how far the task has come. Writes nothing yet. */
export async function openRun(options: AgentOptions): Promise<Run> {
  const { runtime, task, clock = Date.now } = options;
  const task_id = task.task_id ?? makeId("task", clock());
  const record = await readRecord(runtime.journal, task_id);
  const trace_id = record.started?.trace_id ?? task.trace_id ?? makeTraceId();
  const redact = (text: string): string => runtime.redact(text.toWellFormed()).text;
  let current: RoundState | undefined;
  return {
    options,
    signal: options.signal ?? new AbortController().signal,
    record,
    trace_id,
    task_id,
    messages: [{ role: "user", text: redact(task.text) }],
    done: [],
    turns: 0,
    rounds: 0,
    invalidInARow: 0,
    now: clock,
    redact,
    async enter(state) {
      if (state !== current) await options.onState?.(state);
      current = state;
    },
    async write({ type, parent_id, payload, options: appendOptions }) {
      const now = clock();
      const event_id = makeId("evt", now);
      const about = { trace_id, task_id, run_id: runtime.run_id, parent_id, payload };
      await runtime.journal.append([{ event_id, ts: new Date(now).toISOString(), type, ...about }], appendOptions);
      return event_id;
    },
  };
}
