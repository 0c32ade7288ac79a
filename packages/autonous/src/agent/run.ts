import { makeId, makeTraceId } from "@autonous/runtime/internal";
import type { CallOptions, ErrorCode, Runtime, ToolCallResult } from "@autonous/runtime";
import type { AppendOptions, EventDraft, EventType } from "@autonous/runtime/internal";
import type { CompleteOptions, Message, MessageImage, ModelProvider, ModelUsage } from "../model/provider.ts";
import type { FailureReason } from "../model/failures/failure.ts";
import type { HistoryWindow, WindowState } from "./window/context-window.ts";
import type { ProjectContext } from "./instructions.ts";
import type { AgentLimits } from "./usage/limits.ts";
import { ProgressWatch } from "./no-progress.ts";
import { readRecord } from "./resume.ts";
import type { AgentRecord } from "./resume.ts";
import { Meter } from "./usage/meter.ts";
import type { Totals } from "./usage/meter.ts";

interface AgentTask {
  readonly text: string;
  /** A task that has an id, and of which the run's journal knows already, is taken up where it was. Default: a new task. */
  readonly task_id?: string;
  /** `event_id` of the `task.started` or `task.queued` that this belongs to. */
  readonly parent_id?: string;
  /** The run that this one is a part of. */
  readonly parent_run_id?: string;
  readonly trace_id?: string;
  /** Where the task comes from and who asked: rules and quotas may speak of them. */
  readonly chat?: string;
  readonly user?: string;
  /** The way that it came by, such as `telegram`: for the record. */
  readonly channel?: string;
  /** Pictures that belong to the text. They are not recorded. */
  readonly images?: readonly MessageImage[];
  /** `chat`: a message of a conversation at a terminal. For the record. */
  readonly source?: string;
  /** What was said before in the same conversation, oldest first: `messages` of an earlier outcome. Redacted already. */
  readonly history?: readonly Message[];
  /** What of the history was shown, and in short what was not: `window` of the same outcome. Default: all of it is shown. */
  readonly window?: HistoryWindow;
  /** Model rounds of the conversation before it, which a script of replies goes on from. Default: 0. */
  readonly rounds_before?: number;
}

/** Options of `runAgent`: the task, its runtime, the model and the limits. */
export interface AgentOptions {
  /** What calls are made with, and where the record is kept. The caller closes it. */
  readonly runtime: Pick<
    Runtime,
    "run_id" | "callAll" | "tools" | "journal" | "redact" | "redactValue" | "charge" | "actor" | "interruptedChange"
  >;
  readonly provider: ModelProvider;
  readonly task: AgentTask;
  readonly limits: AgentLimits;
  /** Cancels the run. */
  readonly signal?: AbortSignal;
  /** What the workspace says about itself. A run that is taken up again keeps what it began with. */
  readonly project?: ProjectContext;
  /** How many tokens fit into a request. Default: what the provider says, else 100,000. */
  readonly context_tokens?: number;
  /** Tools that the model is sent from the start, though there are too many to send all. */
  readonly first_tools?: readonly string[];
  /** What a round of the model of that name cost. Undefined, or left out: nobody knows. */
  readonly costOf?: (usage: ModelUsage, model: string) => number | undefined;
  /** Tokens as they count against limits and quotas. Default: cache reads count by list prices, or a tenth. */
  readonly billedTokens?: (usage: ModelUsage, model: string) => number;
  /** The whole result of a call that ended before, where somebody kept it. Without it the event has to do. */
  readonly storedResult?: (tool_call_id: string) => Promise<ToolCallResult | undefined>;
  /** Told when asking the model gives way to making calls, and the other way round. */
  readonly onState?: (state: RoundState) => Promise<void>;
  /** How far calls are, for live views. */
  readonly onProgress?: CallOptions["onProgress"];
  /** Aborts the calls that are under way and not the run: the model is told `Cancelled`. Asked for before each round of calls. */
  readonly callSignal?: () => AbortSignal;
  /** Pieces of a reply as they come, for live views. As the provider gave them: whoever shows them redacts them. */
  readonly onDelta?: CompleteOptions["onDelta"];
  readonly onRetry?: CompleteOptions["onRetry"];
  /** What the run has used so far, told after each model round. */
  readonly onUsage?: (totals: Totals) => void;
  readonly clock?: () => number;
}

type RoundState = "model_round" | "tool_round";

export interface AgentError {
  readonly code: ErrorCode;
  readonly message: string;
  /** With `ModelFailed`, where the provider tells: why, which says whether a later try may do better. */
  readonly reason?: FailureReason;
}

/** How a task ended, and what it used. */
export interface AgentOutcome {
  /** `parked`: a call waits for a person. The same task, run again once they have answered, goes on from there. */
  readonly outcome: "completed" | "failed" | "cancelled" | "parked";
  /** Empty unless completed. */
  readonly answer: string;
  /** The end of the answer is missing: the limit of the output cut it off. Its last line says so. */
  readonly cut?: true;
  /** Of a limit: its name, and what was done so far. */
  readonly error?: AgentError;
  readonly turns: number;
  readonly calls: number;
  readonly usage: Totals;
  /** The model in use at the end, where that is not the first of the list. */
  readonly model?: string;
  /** All that was said, the history before it too: the history of what is said next. */
  readonly messages?: readonly Message[];
  /** How the model saw them at last. */
  readonly window?: HistoryWindow;
  /** Tokens that the next request would take, as counted here, and how many fit. */
  readonly context?: { readonly tokens: number; readonly limit: number };
}

/** What the loop knows while it runs: the record of before, and what came of it since. */
export interface Run {
  readonly options: Omit<AgentOptions, "provider">;
  /** The model in use: one of `models`. */
  provider: ModelProvider;
  /** In the order in which they are asked where one is down. */
  readonly models: readonly ModelProvider[];
  readonly signal: AbortSignal;
  readonly record: AgentRecord;
  readonly trace_id: string;
  readonly task_id: string;
  readonly project: ProjectContext;
  /** Everything that was said. It only grows; `window` says what of it the model sees. */
  readonly messages: Message[];
  window: WindowState;
  /** Tools that searches have found. */
  readonly found: Set<string>;
  /** What became of each call, in words. */
  readonly done: string[];
  readonly files_changed: Set<string>;
  readonly meter: Meter;
  readonly watch: ProgressWatch;
  /** The model was told that it does not get on. */
  isWarned: boolean;
  /** Turns of this attempt. */
  turns: number;
  /** Model rounds of the conversation: those that failed and those of earlier attempts too. */
  rounds: number;
  invalidInARow: number;
  /** Of an answer that was cut off, so far. */
  readonly pieces: string[];
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
  const { task, clock = Date.now } = options;
  const task_id = task.task_id ?? makeId("task", clock());
  // A skill that the task has read leaves fewer of them.
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
    watch: new ProgressWatch(),
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

/** Places in the record count from the beginning of the history: what is no longer kept of it keeps its place. */
function historyOf({ task: { history = [] } }: AgentOptions, { started }: AgentRecord): readonly Message[] {
  const began = Number(started?.payload["history"] ?? history.length);
  const missing = Array.from({ length: Math.max(0, began - history.length) }, (_, index): Message => {
    const role = (began - index) % 2 === 0 ? "user" : "assistant";
    return { role, text: "(No longer stored.)" };
  });
  return [...missing, ...history.slice(Math.max(0, history.length - began))];
}

const ALL: HistoryWindow = { from: 0, whole_from: 0 };

/** As it was when the run began: what is on record since goes on from there. */
function windowOf({ task: { window = ALL } }: AgentOptions, { started }: AgentRecord): HistoryWindow {
  return started === undefined ? window : ((started.payload["window"] as HistoryWindow | undefined) ?? ALL);
}

/** As it was when the run began: the model goes on with what it was told then. */
function projectOf({ project = {}, runtime }: AgentOptions, { started }: AgentRecord): ProjectContext {
  const recorded = started?.payload["project"] as ProjectContext | undefined;
  return recorded ?? (started === undefined ? (runtime.redactValue(project).value as ProjectContext) : {});
}
