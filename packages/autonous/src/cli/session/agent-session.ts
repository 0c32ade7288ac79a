import { makeId, makeTraceId, runPath, ToolError } from "@autonous/runtime";
import type { CallError, EventType, Runtime, RuntimeEvent, RuntimeOptions, ToolCallResult } from "@autonous/runtime";
import { runAgent } from "../../agent/loop.ts";
import { compactHistory } from "../../agent/window/summary.ts";
import type { CompactedHistory } from "../../agent/window/summary.ts";
import { createReverseThinker } from "../../agent/reverse-thinking.ts";
import type { AgentOptions, AgentOutcome } from "../../agent/run.ts";
import type { LongScope } from "../../channels/terminal/answers.ts";
import { createLiveView } from "../../channels/terminal/live-view.ts";
import type { LiveView } from "../../channels/terminal/live-view.ts";
import { noteLines } from "../../channels/terminal/note-lines.ts";
import type { Screen } from "../../channels/terminal/screen.ts";
import type { ModelProvider } from "../../model/provider.ts";
import { hasCollector } from "../../telemetry/collector.ts";
import type { Traces } from "../../telemetry/traces.ts";
import { createPreview } from "../output/preview.ts";
import { readAsking } from "./asking.ts";
import { canAsk, namedSkill, openAttended, startWith, stderrScreen } from "./approver.ts";
import type { CommandInput } from "../command.ts";
import { KeptResults } from "../records/kept-results.ts";
import { tellNotes } from "../output/notes-notice.ts";
import type { Workplace } from "./open-runtime.ts";

interface SessionOptions {
  readonly place: Workplace;
  readonly provider: ModelProvider;
  readonly limits: AgentOptions["limits"];
  /** How long a yes may hold beyond the one call. */
  readonly scopes: readonly LongScope[];
  /** Goes on with this run. Default: a new one. */
  readonly run_id?: string;
  /** Of what a task is a part, which goes on when the task is stopped: of a chat, or of nothing. */
  readonly taskOf: "chat" | "run";
}

type Task = AgentOptions["task"];
type Said = Pick<Task, "history" | "window">;

/** What became of a task when it was last at hand: its process ended within it, or it came to an end without an answer. */
export type Before = "broken_off" | "failed";

/** What came of a task at this terminal. */
export interface Asked extends AgentOutcome {
  /** Calls that had to be asked for where nobody could be. */
  readonly unasked: readonly CallError[];
  /** Of the changes that were made, in their order. */
  readonly undo_ids: readonly string[];
  /** Some of the tokens are estimated: the provider did not say how many it billed. */
  readonly isEstimated: boolean;
  /** Some of them the provider reported. */
  readonly isReported: boolean;
}

/** The agent at a terminal: a run, its live view, and who answers. Whoever opens it closes it. */
export interface AgentSession {
  readonly runtime: Runtime;
  readonly view: LiveView;
  provider: ModelProvider;
  ask(task: Task, options?: { readonly before?: Before }): Promise<Asked>;
  /** Has the model summarise what was said. Throws `ToolError`. */
  compact(said: Said): Promise<CompactedHistory>;
  close(): Promise<void>;
}

/** No more comes of the reply that is shown as it comes. */
const ENDS_REPLY: ReadonlySet<EventType> = new Set(["model.completed", "model.failed", "model.switched"]);

/** Two of them within this time stop more than one. */
const TWICE_MS = 2000;

/** A chat makes no call again: those that a killed process left open end at once, and what they changed can be undone. */
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
  const asking = await readAsking(options.place, namedSkill(input), (project) => tellNotes(project, input, options));
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
    preview.end(); // what came of the attempt that failed is not gone on with
    view.retry(retry);
  };
  const results = new KeptResults(options.place.state_dir, runtime.run_id);
  const told = print.json ? {} : { onProgress: view.progress, onDelta: preview.push, onRetry };
  return Object.assign(session, {
    runtime,
    view,
    async ask(task: Task, { before }: { readonly before?: Before } = {}): Promise<Asked> {
      const stop = state.begin();
      try {
        if (before !== undefined) await recordTakenUp(runtime, task, before);
        const { provider } = session;
        const calling = { callSignal: () => state.beginCalls(), storedResult: async (id: string) => results.find(id) };
        const how = { ...asking, ...told, limits: options.limits, signal: stop, ...calling };
        const outcome = await runRecorded({ runtime, provider, task: withRounds(task), ...how });
        return { ...outcome, ...state.found() };
      } finally {
        state.end();
        preview.end();
      }
    },
    compact: (said: Said) => compactIn(said, { ...asking, runtime, session, state, limits: options.limits }),
    async close(): Promise<void> {
      await runtime.close();
      await traces?.close();
    },
  });
}

function withRounds(task: Task): Task {
  return { ...task, rounds_before: (task.history ?? []).filter(({ role }) => role === "assistant").length };
}

type Compacting = Omit<AgentOptions, "task" | "provider" | "signal"> & {
  readonly session: Pick<AgentSession, "provider">;
  readonly state: SessionState;
};

async function compactIn(said: Said, { session, state, ...how }: Compacting): Promise<CompactedHistory> {
  const signal = state.begin();
  try {
    return await compactHistory({ ...how, provider: session.provider, signal, task: { ...said, text: "" } });
  } finally {
    state.end();
  }
}

function printNote(screen: Screen, text: string): void {
  screen.print(noteLines(text, screen.columns ?? Infinity));
}

/** Markdown is rendered where there are colours for it, and read by nothing else: others do not load what reads it. */
async function openView({ options, print }: CommandInput, { state_dir }: Workplace, screen: Screen): Promise<LiveView> {
  const folderOf = (run_id: string): string => runPath(state_dir, run_id);
  const isRendered = screen.rewrites && screen.colours && !print.json;
  const markdown = isRendered ? await import("../../channels/terminal/markdown-layout.ts") : undefined;
  const layout = markdown === undefined ? {} : { layout: markdown.createMarkdownLayout(screen.paint) };
  return createLiveView(screen, { folderOf, verbose: options["verbose"] === true, ...layout });
}

/** For whoever has a collector: nothing of it is loaded for others. */
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

/** What happens while a task is under way, and what Ctrl-C stops of it. */
class SessionState {
  readonly #input: CommandInput;
  readonly #taskOf: SessionOptions["taskOf"];
  readonly #say: (text: string) => void;
  #task = new AbortController();
  #calls = new AbortController();
  readonly #running = new Set<unknown>();
  #unasked: CallError[] = [];
  #undoIds: string[] = [];
  #isEstimated = false;
  #isReported = false;
  #lastMs = -TWICE_MS;
  #letGo = (): void => {};

  constructor(input: CommandInput, { taskOf, say }: Pick<SessionOptions, "taskOf"> & { say: (text: string) => void }) {
    this.#input = input;
    this.#taskOf = taskOf;
    this.#say = say;
  }

  /** Gives the signal of the task. */
  begin(): AbortSignal {
    this.#task = new AbortController();
    this.#running.clear();
    this.#unasked = [];
    this.#undoIds = [];
    this.#isEstimated = false;
    this.#isReported = false;
    this.#letGo = this.#input.onInterrupt(() => this.#interrupt());
    return AbortSignal.any([this.#input.signal, this.#task.signal]);
  }

  beginCalls(): AbortSignal {
    this.#calls = new AbortController();
    return this.#calls.signal;
  }

  end(): void {
    this.#letGo();
  }

  found(): Pick<Asked, "unasked" | "undo_ids" | "isEstimated" | "isReported"> {
    const counted = { isEstimated: this.#isEstimated, isReported: this.#isReported };
    return { unasked: this.#unasked, undo_ids: this.#undoIds, ...counted };
  }

  note({ type, payload }: RuntimeEvent, result: ToolCallResult | undefined): void {
    if (type === "tool_call.started") this.#running.add(payload["tool_call_id"]);
    const { estimated, input_tokens } = Object(payload["usage"]) as Readonly<Record<string, unknown>>;
    if (type === "model.completed" || type === "model.billed") {
      this.#isEstimated ||= estimated === true;
      // What was paid for a failed attempt is shown as an estimate too: it counts against the limits.
      this.#isReported ||= input_tokens !== undefined && (estimated !== true || type === "model.billed");
    }
    if (result === undefined) return;
    this.#running.delete(result.tool_call_id);
    if (result.error?.code === "ApprovalRequired") this.#unasked.push(result.error);
    if (result.artifacts.undo_id !== undefined) this.#undoIds.push(result.artifacts.undo_id);
  }

  /** Stops the task: somebody pressed Ctrl-C twice. */
  stop(): void {
    if (this.#taskOf === "chat") this.#task.abort();
    else process.kill(process.pid, "SIGINT");
    this.#letGo();
  }

  /** True: no more is to be stopped than was. First the calls that run, then the task, and in a run the program. */
  #interrupt(): boolean {
    const isTwice = performance.now() - this.#lastMs < TWICE_MS;
    this.#lastMs = performance.now();
    const isChat = this.#taskOf === "chat";
    if (!isTwice && canAsk() && this.#running.size > 0) {
      this.#calls.abort(new ToolError("Cancelled", "The call was cancelled by the person at the terminal"));
      this.#say(`Stopping the call; Ctrl-C again stops the ${isChat ? "task" : "run"}`);
      return true;
    }
    if (!isChat && (this.#task.signal.aborted || !canAsk())) return false;
    this.#task.abort();
    return true;
  }
}

/** An attempt that failed is over on record; this begins another. One that was broken off is gone on with. */
async function recordTakenUp(runtime: Runtime, { task_id, trace_id }: Task, before: Before): Promise<void> {
  const now = Date.now();
  const about = { trace_id: trace_id ?? makeTraceId(), task_id: task_id ?? null, run_id: runtime.run_id };
  const ts = new Date(now).toISOString();
  const payload = { source: "terminal" };
  const type = before === "failed" ? "task.started" : "task.resumed";
  await runtime.journal.append([{ event_id: makeId("evt", now), ts, type, parent_id: null, ...about, payload }]);
}

/** What the loop throws is the journal's: a run whose record cannot be kept is not gone on with. */
async function runRecorded(options: AgentOptions): Promise<AgentOutcome> {
  try {
    return await runAgent(options);
  } catch (error) {
    if (error instanceof ToolError) throw error;
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    const message = `Cannot go on with the task: its record could not be written (${reason})`;
    throw new ToolError("RecordFailed", message, {}, error);
  }
}
