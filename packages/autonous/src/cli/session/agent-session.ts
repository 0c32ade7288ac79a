import { ToolError } from "@autonous/runtime";
import { makeId, makeTraceId, runPath } from "@autonous/runtime/internal";
import type { CallError, Runtime, RuntimeEvent, RuntimeOptions, ToolCallResult } from "@autonous/runtime";
import type { EventType } from "@autonous/runtime/internal";
import type { ProjectContext } from "../../agent/instructions.ts";
import { runAgent } from "../../agent/loop.ts";
import { compactHistory } from "../../agent/window/summary.ts";
import type { CompactedHistory } from "../../agent/window/summary.ts";
import { createReverseThinker } from "../../agent/reverse-thinking.ts";
import type { AgentOptions, AgentOutcome } from "../../agent/agent-run.ts";
import type { LongScope } from "../../channels/terminal/answers.ts";
import { createLiveView } from "../../channels/terminal/live-view.ts";
import type { LiveView } from "../../channels/terminal/live-view.ts";
import { noteLines } from "../../channels/terminal/note-lines.ts";
import type { Screen } from "../../channels/terminal/screen.ts";
import type { ModelProvider } from "../../model/provider.ts";
import { hasCollector } from "../../telemetry/collector.ts";
import type { Traces } from "../../telemetry/traces.ts";
import { createPreview } from "../output/preview.ts";
import { readModelInputs } from "../../workplace/model-requests.ts";
import { canAsk, namedSkill, openAttended, startWith, stderrScreen } from "./approver.ts";
import type { CommandInput } from "../command.ts";
import { KeptResults } from "../records/kept-results.ts";
import { printNotes } from "../output/notes-notice.ts";
import type { Workplace } from "../../workplace/workplace.ts";

interface SessionOptions {
  readonly place: Workplace;
  readonly provider: ModelProvider;
  readonly limits: AgentOptions["limits"];
  /** The scopes offered for an approval beyond the single call. */
  readonly scopes: readonly LongScope[];
  /** Resumes this run. Default: a new run. */
  readonly run_id?: string;
  /** Whether the task belongs to a chat, which continues when the task is stopped. */
  readonly taskOf: "chat" | "run";
}

type Task = AgentOptions["task"];
type Transcript = Pick<Task, "history" | "window">;

/** How the previous attempt ended: interrupted with its process, or failed without an answer. */
export type PreviousAttempt = "interrupted" | "failed";

/** The outcome of a task at this terminal. */
export interface TaskOutcome extends AgentOutcome {
  /** Calls that needed approval when no person could be asked. */
  readonly unapproved: readonly CallError[];
  /** Undo ids of the changes, in order. */
  readonly undo_ids: readonly string[];
  /** Some token counts are estimated, because the provider did not report them. */
  readonly isEstimated: boolean;
  /** The provider reported some token counts. */
  readonly isReported: boolean;
}

/** The agent at a terminal: a run, its live view and the approver. The caller closes it. */
export interface AgentSession {
  readonly runtime: Runtime;
  readonly view: LiveView;
  provider: ModelProvider;
  ask(task: Task, options?: { readonly before?: PreviousAttempt }): Promise<TaskOutcome>;
  /** Has the model summarise the conversation. Throws `ToolError`. */
  compact(transcript: Transcript): Promise<CompactedHistory>;
  close(): Promise<void>;
}

/** Events after which the streamed reply is complete. */
const ENDS_REPLY: ReadonlySet<EventType> = new Set(["model.completed", "model.failed", "model.switched"]);

/** A second Ctrl-C within this time stops more than the first. */
const TWICE_MS = 2000;

/** A chat repeats no calls: those left open by a killed process end immediately, and their changes can be undone. */
function resumption({ run_id, taskOf }: SessionOptions): Pick<RuntimeOptions, "run_id" | "resumes"> {
  return run_id === undefined ? {} : { run_id, resumes: taskOf === "run" };
}

export async function openSession(input: CommandInput, options: SessionOptions): Promise<AgentSession> {
  const { print, signal } = input;
  const screen = stderrScreen();
  const view = await openView(input, options.place, screen);
  const say = (text: string): void => (print.json ? print.note(text) : printNote(screen, text));
  const state = new SessionState(input, { taskOf: options.taskOf, say });
  const preview = createPreview(view);
  const traces = await openSessionTraces(() => runtime.journal, say);
  const onEvent = (event: RuntimeEvent, result?: ToolCallResult): void => {
    state.note(event, result);
    if (result !== undefined) results.keep(result);
    traces?.observe(event);
    if (ENDS_REPLY.has(event.type)) preview.end();
    if (print.json) print.document(event);
    else view.event(event, result);
  };
  const onRead = (project: ProjectContext): void => printNotes(project, input, options);
  const inputs = await readModelInputs(options.place, namedSkill(input), onRead);
  const session: { provider: ModelProvider } = { provider: options.provider };
  const redactValue: Runtime["redactValue"] = (value) => runtime.redactValue(value);
  const runtime: Runtime = await openAttended(
    input,
    { place: options.place, scopes: options.scopes, screen, stop: () => state.stop() },
    {
      onEvent,
      keeps_results: true,
      onReverseThinking: (call) => createReverseThinker({ provider: session.provider, redactValue, signal })(call),
      ...resumption(options),
    },
  );
  await startWith(namedSkill(input), runtime);
  const onRetry: LiveView["retry"] = (retry) => {
    preview.end(); // the reply of the failed attempt is discarded
    view.retry(retry);
  };
  const results = new KeptResults(options.place.state_dir, runtime.run_id);
  const handlers = print.json ? {} : { onProgress: view.progress, onDelta: preview.push, onRetry };
  return Object.assign(session, {
    runtime,
    view,
    async ask(task: Task, { before }: { readonly before?: PreviousAttempt } = {}): Promise<TaskOutcome> {
      const stop = state.begin();
      try {
        if (before !== undefined) await recordNextAttempt(runtime, task, before);
        const calling = { callSignal: () => state.beginCalls(), storedResult: async (id: string) => results.find(id) };
        const how = { ...inputs, ...handlers, limits: options.limits, signal: stop, ...calling };
        const outcome = await runRecorded({ runtime, provider: session.provider, task: withRounds(task), ...how });
        return { ...outcome, ...state.collected() };
      } finally {
        state.end();
        preview.end();
      }
    },
    compact: (task: Transcript) => compactIn(task, { ...inputs, runtime, session, state, limits: options.limits }),
    async close(): Promise<void> {
      await runtime.close();
      await traces?.close();
    },
  });
}

function withRounds(task: Task): Task {
  return { ...task, rounds_before: (task.history ?? []).filter(({ role }) => role === "assistant").length };
}

type Compaction = Omit<AgentOptions, "task" | "provider" | "signal"> & {
  readonly session: Pick<AgentSession, "provider">;
  readonly state: SessionState;
};

async function compactIn(transcript: Transcript, { session, state, ...how }: Compaction): Promise<CompactedHistory> {
  const signal = state.begin();
  try {
    return await compactHistory({ ...how, provider: session.provider, signal, task: { ...transcript, text: "" } });
  } finally {
    state.end();
  }
}

function printNote(screen: Screen, text: string): void {
  screen.print(noteLines(text, screen.columns ?? Infinity));
}

/** Markdown is rendered only with colours, so the renderer is loaded only then. */
async function openView({ options, print }: CommandInput, { state_dir }: Workplace, screen: Screen): Promise<LiveView> {
  const folderOf = (run_id: string): string => runPath(state_dir, run_id);
  const isRendered = screen.rewrites && screen.colours && !print.json;
  const markdown = isRendered ? await import("../../channels/terminal/markdown-layout.ts") : undefined;
  const layout = markdown === undefined ? {} : { layout: markdown.createMarkdownLayout(screen.paint) };
  return createLiveView(screen, { folderOf, verbose: options["verbose"] === true, ...layout });
}

/** Loads the tracing code only if a collector is configured. */
async function openSessionTraces(
  journal: () => Runtime["journal"],
  log: (line: string) => void,
): Promise<Traces | undefined> {
  if (!hasCollector(process.env)) return undefined;
  const { openTraces } = await import("../../telemetry/traces.ts");
  return await openTraces({
    environment: process.env,
    log,
    async findEvent(_run_id, event_id) {
      for await (const event of journal().read()) if (event.event_id === event_id) return event;
      return undefined;
    },
  });
}

/** The state of the running task, and what Ctrl-C stops. */
class SessionState {
  readonly #input: CommandInput;
  readonly #taskOf: SessionOptions["taskOf"];
  readonly #say: (text: string) => void;
  #task = new AbortController();
  #calls = new AbortController();
  readonly #running = new Set<unknown>();
  #unapproved: CallError[] = [];
  #undoIds: string[] = [];
  #isEstimated = false;
  #isReported = false;
  #lastMs = -TWICE_MS;
  #releaseInterrupt = (): void => {};

  constructor(input: CommandInput, { taskOf, say }: Pick<SessionOptions, "taskOf"> & { say: (text: string) => void }) {
    this.#input = input;
    this.#taskOf = taskOf;
    this.#say = say;
  }

  /** Returns the signal of the task. */
  begin(): AbortSignal {
    this.#task = new AbortController();
    this.#running.clear();
    this.#unapproved = [];
    this.#undoIds = [];
    this.#isEstimated = false;
    this.#isReported = false;
    this.#releaseInterrupt = this.#input.onInterrupt(() => this.#interrupt());
    return AbortSignal.any([this.#input.signal, this.#task.signal]);
  }

  beginCalls(): AbortSignal {
    this.#calls = new AbortController();
    return this.#calls.signal;
  }

  end(): void {
    this.#releaseInterrupt();
  }

  collected(): Pick<TaskOutcome, "unapproved" | "undo_ids" | "isEstimated" | "isReported"> {
    const counted = { isEstimated: this.#isEstimated, isReported: this.#isReported };
    return { unapproved: this.#unapproved, undo_ids: this.#undoIds, ...counted };
  }

  note({ type, payload }: RuntimeEvent, result: ToolCallResult | undefined): void {
    if (type === "tool_call.started") this.#running.add(payload["tool_call_id"]);
    const { estimated, input_tokens } = Object(payload["usage"]) as Readonly<Record<string, unknown>>;
    if (type === "model.completed" || type === "model.billed") {
      this.#isEstimated ||= estimated === true;
      // The estimated usage of a failed attempt is shown too, because it counts against the limits.
      this.#isReported ||= input_tokens !== undefined && (estimated !== true || type === "model.billed");
    }
    if (result === undefined) return;
    this.#running.delete(result.tool_call_id);
    if (result.error?.code === "ApprovalRequired") this.#unapproved.push(result.error);
    if (result.artifacts.undo_id !== undefined) this.#undoIds.push(result.artifacts.undo_id);
  }

  /** Stops the task after a second Ctrl-C. */
  stop(): void {
    if (this.#taskOf === "chat") this.#task.abort();
    else process.kill(process.pid, "SIGINT");
    this.#releaseInterrupt();
  }

  /** Stops the running calls first, then the task, and in a run the program. True: handled, stop nothing else. */
  #interrupt(): boolean {
    const isTwice = performance.now() - this.#lastMs < TWICE_MS;
    this.#lastMs = performance.now();
    const isChat = this.#taskOf === "chat";
    if (!isTwice && canAsk() && this.#running.size > 0) {
      this.#calls.abort(new ToolError("Cancelled", "The user cancelled the call at the terminal"));
      this.#say(`Stopping the call; Ctrl-C again stops the ${isChat ? "task" : "run"}`);
      return true;
    }
    if (!isChat && (this.#task.signal.aborted || !canAsk())) return false;
    this.#task.abort();
    return true;
  }
}

/** After a failed attempt, which is recorded as ended, a new one starts. An interrupted one is resumed. */
async function recordNextAttempt(
  runtime: Runtime,
  { task_id, trace_id }: Task,
  before: PreviousAttempt,
): Promise<void> {
  const now = Date.now();
  const about = { trace_id: trace_id ?? makeTraceId(), task_id: task_id ?? null, run_id: runtime.run_id };
  const ts = new Date(now).toISOString();
  const payload = { source: "terminal" };
  const type = before === "failed" ? "task.started" : "task.resumed";
  await runtime.journal.append([{ event_id: makeId("evt", now), ts, type, parent_id: null, ...about, payload }]);
}

/** The loop throws only journal errors: a run that cannot be recorded is stopped. */
async function runRecorded(options: AgentOptions): Promise<AgentOutcome> {
  try {
    return await runAgent(options);
  } catch (error) {
    if (error instanceof ToolError) throw error;
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    const message = `Cannot continue the task: its record could not be written (${reason})`;
    throw new ToolError("RecordFailed", message, {}, error);
  }
}
