import { makeId, makeTraceId } from "@autonous/runtime/internal";
import type { CallOptions, ErrorCode, Runtime, ToolCallResult } from "@autonous/runtime";
import type { AppendOptions, EventDraft, EventType } from "@autonous/runtime/internal";
import type { CompleteOptions, Message, MessageImage, ModelProvider, ModelUsage } from "../model/provider.ts";
import type { FailureReason } from "../model/failures/model-failure.ts";
import type { HistoryWindow, WindowState } from "./window/context-window.ts";
import type { ProjectContext } from "./instructions.ts";
import type { AgentLimits } from "./usage/limits.ts";
import { CycleDetector } from "./no-progress.ts";
import { readRecord } from "./resume.ts";
import type { AgentRecord } from "./resume.ts";
import { Meter } from "./usage/meter.ts";
import type { Totals } from "./usage/meter.ts";

interface AgentTask {
  readonly text: string;
  /** If the run's journal already knows this id, the task resumes where it stopped. Default: a new task. */
  readonly task_id?: string;
  /** `event_id` of the `task.started` or `task.queued` event that is the parent. */
  readonly parent_id?: string;
  /** The run that started this one. */
  readonly parent_run_id?: string;
  readonly trace_id?: string;
  /** Origin and user of the task: rules and quotas may refer to them. */
  readonly chat?: string;
  readonly user?: string;
  /** The channel, such as `telegram`. Recorded. */
  readonly channel?: string;
  /** Images that belong to the text. Not recorded. */
  readonly images?: readonly MessageImage[];
  /** `chat`: a message of a conversation at a terminal. Recorded. */
  readonly source?: string;
  /** Earlier messages of the same conversation, oldest first: `messages` of an earlier outcome. Already redacted. */
  readonly history?: readonly Message[];
  /** How much of the history was shown: `window` of the same outcome. Default: all of it is shown. */
  readonly window?: HistoryWindow;
  /** Earlier model rounds of the conversation: a scripted model continues after them. Default: 0. */
  readonly rounds_before?: number;
}

/** Options of `runAgent`: the task, its runtime, the model and the limits. */
export interface AgentOptions {
  /** Runs the calls and holds the journal. The caller closes it. */
  readonly runtime: Pick<
    Runtime,
    "run_id" | "callAll" | "tools" | "journal" | "redact" | "redactValue" | "charge" | "actor" | "interruptedChange"
  >;
  readonly provider: ModelProvider;
  readonly task: AgentTask;
  readonly limits: AgentLimits;
  /** Cancels the run. */
  readonly signal?: AbortSignal;
  /** Project notes and surroundings. A resumed run keeps those that it started with. */
  readonly project?: ProjectContext;
  /** Context window in tokens. Default: as the provider reports, else 100,000. */
  readonly context_tokens?: number;
  /** Tools that are sent from the start even if there are too many to send all. */
  readonly first_tools?: readonly string[];
  /** Cost of a round of this model. Undefined or omitted: unknown. */
  readonly costOf?: (usage: ModelUsage, model: string) => number | undefined;
  /** Tokens as they count against limits and quotas. Default: cache reads count by list prices, or a tenth. */
  readonly billedTokens?: (usage: ModelUsage, model: string) => number;
  /** The stored result of a call that ended earlier. Without it, the result is rebuilt from the event. */
  readonly storedResult?: (tool_call_id: string) => Promise<ToolCallResult | undefined>;
  /** Called when the run switches between model rounds and tool rounds. */
  readonly onState?: (state: RoundState) => Promise<void>;
  /** Progress of calls, for live views. */
  readonly onProgress?: CallOptions["onProgress"];
  /** Aborts the running calls but not the run: the model gets `Cancelled`. Called before each round of calls. */
  readonly callSignal?: () => AbortSignal;
  /** Parts of a reply as they arrive, for live views. Not redacted: the receiver must redact them. */
  readonly onDelta?: CompleteOptions["onDelta"];
  readonly onRetry?: CompleteOptions["onRetry"];
  /** Called after each model round with the usage so far. */
  readonly onUsage?: (totals: Totals) => void;
  readonly clock?: () => number;
}

type RoundState = "model_round" | "tool_round";

export interface AgentError {
  readonly code: ErrorCode;
  readonly message: string;
  /** With `ModelFailed`, if known: the reason, which tells whether a retry may help. */
  readonly reason?: FailureReason;
}

/** How a task ended, and what it used. */
export interface AgentOutcome {
  /** `parked`: a call waits for a person. Run the same task again after the answer to resume it. */
  readonly outcome: "completed" | "failed" | "cancelled" | "parked";
  /** Empty unless completed. */
  readonly answer: string;
  /** The answer was truncated at the output limit. Its last line says so. */
  readonly cut?: true;
  /** For a limit: its name, and what was done so far. */
  readonly error?: AgentError;
  readonly turns: number;
  readonly calls: number;
  readonly usage: Totals;
  /** The model in use at the end, if it is not the first of the list. */
  readonly model?: string;
  /** All messages including the earlier history: pass them as `history` of the next task. */
  readonly messages?: readonly Message[];
  /** The part of the messages that the model saw last. */
  readonly window?: HistoryWindow;
  /** Estimated size of the next request and the context window, in tokens. */
  readonly context?: { readonly tokens: number; readonly limit: number };
}

/** State of a running task: the earlier record and everything since. */
export interface Run {
  readonly options: Omit<AgentOptions, "provider">;
  /** The model in use: one of `models`. */
  provider: ModelProvider;
  /** In the order of fallback. */
  readonly models: readonly ModelProvider[];
  readonly signal: AbortSignal;
  readonly record: AgentRecord;
  readonly trace_id: string;
  readonly task_id: string;
  readonly project: ProjectContext;
  /** All messages. Append-only; `window` defines which part the model sees. */
  readonly messages: Message[];
  window: WindowState;
  /** Tools found by searches. */
  readonly found: Set<string>;
  /** The outcome of each call, as text. */
  readonly done: string[];
  readonly files_changed: Set<string>;
  readonly meter: Meter;
  readonly watch: CycleDetector;
  /** The model was warned about missing progress. */
  isWarned: boolean;
  /** Turns of this attempt. */
  turns: number;
  /** Model rounds of the conversation, including failed ones and those of earlier attempts. */
  rounds: number;
  invalidInARow: number;
  /** Parts so far of an answer that was truncated. */
  readonly pieces: string[];
  now(): number;
  redact(text: string): string;
  enter(state: RoundState): Promise<void>;
  write(event: NewEvent): Promise<string>;
}

interface NewEvent {
  readonly type: EventType;
  /** `event_id` of the start event of the parent. */
  readonly parent_id: string | null;
  /** Redacted. */
  readonly payload: EventDraft["payload"];
  readonly options?: AppendOptions;
}

/** Reads how far the task has come. Writes nothing yet. */
export async function openRun(options: AgentOptions): Promise<Run> {
  const { task, clock = Date.now } = options;
  const task_id = task.task_id ?? makeId("task", clock());
  // An active skill may reduce them.
  const runtime: AgentOptions["runtime"] = { ...options.runtime, tools: () => options.runtime.tools({ task_id }) };
  const record = await readRecord(runtime.journal, task_id);
  const trace_id = record.started?.trace_id ?? task.trace_id ?? makeTraceId();
  const redact = (text: string): string => runtime.redact(text.toWellFormed()).text;
  const images = task.images === undefined ? {} : { images: task.images };
  const messages: Message[] = [...historyOf(options, record), { role: "user", text: redact(task.text), ...images }];
  const meter = new Meter(options, record.worked_ms);
  let current: RoundState | undefined;
  return {
    options: { ...options, runtime },
    provider: options.provider,
    models: [options.provider, ...(options.provider.fallbacks ?? [])],
    signal: options.signal ?? new AbortController().signal,
    record,
    trace_id,
    task_id,
    project: projectOf(options, record),
    messages,
    window: { ...windowOf(options, record), task: messages.length - 1 },
    found: new Set(),
    done: [],
    files_changed: new Set(),
    meter,
    watch: new CycleDetector(),
    isWarned: false,
    turns: 0,
    rounds: task.rounds_before ?? 0,
    invalidInARow: 0,
    pieces: [],
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
      const draft = { event_id, ts: new Date(now).toISOString(), type, ...about };
      const [event] = await runtime.journal.append([draft], appendOptions);
      meter.seen(event?.seq);
      return event_id;
    },
  };
}

/** Recorded positions count from the start of the history, so messages that are no longer stored keep their position. */
function historyOf({ task: { history = [] } }: AgentOptions, { started }: AgentRecord): readonly Message[] {
  const began = Number(started?.payload["history"] ?? history.length);
  const missing = Array.from({ length: Math.max(0, began - history.length) }, (_, index): Message => {
    const role = (began - index) % 2 === 0 ? "user" : "assistant";
    return { role, text: "(No longer stored.)" };
  });
  return [...missing, ...history.slice(Math.max(0, history.length - began))];
}

const ALL: HistoryWindow = { from: 0, whole_from: 0 };

/** As at the start of the run: later recorded positions build on it. */
function windowOf({ task: { window = ALL } }: AgentOptions, { started }: AgentRecord): HistoryWindow {
  return started === undefined ? window : ((started.payload["window"] as HistoryWindow | undefined) ?? ALL);
}

/** As at the start of the run: a resumed run must send the same instructions. */
function projectOf({ project = {}, runtime }: AgentOptions, { started }: AgentRecord): ProjectContext {
  const recorded = started?.payload["project"] as ProjectContext | undefined;
  return recorded ?? (started === undefined ? (runtime.redactValue(project).value as ProjectContext) : {});
}
