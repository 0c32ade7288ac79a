import { redact, ToolError } from "@autonous/runtime";
import { faultReason, makeVisible, secretsOf } from "@autonous/runtime/internal";
import type { Runtime, Tool } from "@autonous/runtime";
import { runAgent } from "../agent/loop.ts";
import type { AgentLimits } from "../agent/usage/limits.ts";
import type { AgentOptions, AgentOutcome } from "../agent/agent-run.ts";
import { REASONS } from "../model/failures/model-failure.ts";
import type { FailureReason } from "../model/failures/model-failure.ts";
import type { Message, ModelProvider } from "../model/provider.ts";
import type { Finish, Lease, Store, Task } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";
import { backoffMs } from "./backoff.ts";
import { undoChanges } from "./undo-task.ts";
import { OutputTails } from "./output-feed.ts";
import type { OutputLine } from "../store/record/outgoing.ts";
import { hideImages, receiveFiles } from "../received/receive-files.ts";
import type { InboxFolder, ReceivedTask } from "../received/receive-files.ts";

export interface TaskLimits extends AgentLimits {
  readonly max_attempts: number;
  readonly retry_base_ms: number;
}

export interface RunTaskOptions {
  readonly store: Store;
  /** Opens a runtime that records to the lease's run. It is closed when the task ends. */
  readonly openRuntime: (lease: Lease, tools?: readonly Tool[]) => Promise<Runtime>;
  readonly provider: ModelProvider;
  readonly limits: TaskLimits;
  /** Options for model requests: context size, prices, project instructions. */
  readonly readAsking?: () => Promise<Pick<AgentOptions, "billedTokens" | "context_tokens" | "costOf" | "project">>;
  /** Where files that come with tasks go. */
  readonly inbox: InboxFolder;
  readonly clock: () => number;
  /** Receives output lines of running commands, at intervals. */
  readonly onOutput?: (output: OutputLine) => void;
}

/** Runs one task with the agent and returns how to finish it. Throws if events cannot be recorded. */
export async function runTask(lease: Lease, signal: AbortSignal, options: RunTaskOptions): Promise<Finish> {
  try {
    if (lease.task.undoes !== null) return await undoChanges(lease, { ...options, signal });
    const received = await receiveFiles(lease, { ...options, signal });
    if (received === "parked") return { outcome: "parked" };
    if (received === "cancelled")
      return { outcome: "cancelled", error: "Cancelled: stopped while files were received" };
    const outcome = await askAgent(lease, { ...options, received, signal });
    if (received.images.length > 0 && mayBeImages(outcome)) return await withoutImages(lease, outcome, options);
    return finishFor(outcome, lease, options);
  } catch (error) {
    if (error instanceof StoreError && error.code !== "DamagedRow") throw error;
    if (error instanceof StoreError) return { outcome: "failed", error: error.message, reply: error.message };
    // An internal error may recur at every attempt and would end a worker each time, so the task fails instead.
    const said =
      error instanceof ToolError ? `${error.code}: ${error.message}` : `InternalError: ${faultReason(error)}`;
    const message = redact(said, { known: secretsOf(process.env) }).text;
    return { outcome: "failed", error: message, reply: message };
  }
}

/** Images can also be the reason why a request is too large. */
function mayBeImages({ error, turns }: AgentOutcome): boolean {
  return turns <= 1 && (error?.reason === "bad_request" || error?.reason === "context_length");
}

/** A damaged or too large image must not fail the task. Happens only once: afterwards the task has no images. */
async function withoutImages(lease: Lease, { error }: AgentOutcome, options: RunTaskOptions): Promise<Finish> {
  await hideImages(lease, options);
  return { outcome: "retry", error: error?.message ?? "the model rejected the images", retry_at: options.clock() };
}

interface Asking extends RunTaskOptions {
  readonly received: Exclude<ReceivedTask, string>;
  readonly signal: AbortSignal;
}

async function askAgent(lease: Lease, options: Asking): Promise<AgentOutcome> {
  const { store, provider, limits, clock, received, signal } = options;
  const { task } = lease;
  const runtime = await options.openRuntime(lease);
  const tails = new OutputTails({
    tell: (output) => options.onOutput?.({ task_id: task.task_id, ...output }),
    redact: (text) => runtime.redact(text).text,
  });
  try {
    const asking = await options.readAsking?.();
    if (task.skill !== null) await runtime.useSkill(task.skill, { task_id: task.task_id });
    const outcome = await runAgent({
      runtime,
      provider,
      task: {
        text: received.text,
        ...(received.images.length === 0 ? {} : { images: received.images }),
        task_id: task.task_id,
        trace_id: task.trace_id,
        chat: task.lane,
        channel: task.source,
        ...(task.user === null ? {} : { user: task.user }),
        ...(await parentOf(lease, store)),
        history: await readHistory(lease, store),
      },
      limits: agentLimits(limits),
      ...asking,
      ...(task.skill === null ? {} : { project: { ...asking?.project, skill: task.skill } }),
      signal,
      storedResult: (tool_call_id) => store.calls.result({ run_id: task.run_id, tool_call_id }),
      onProgress: (progress) => tails.push(progress),
      onState: (state) => store.inbox.setState(lease, state),
      clock,
    });
    return outcome.outcome === "cancelled" ? { ...outcome, answer: await changedWords(lease, runtime) } : outcome;
  } finally {
    tails.close();
    await runtime.close();
  }
}

/** How to undo the changes of a task, by channel. */
const UNDO_HINTS: Readonly<Record<string, (task: Task) => string>> = {
  telegram: ({ task_id }) => ` To undo: /undo ${task_id.slice(-6)}`,
};
const MAX_NAMED = 5;

/** What a task that was stopped has changed. */
async function changedWords({ task }: Lease, runtime: Runtime): Promise<string> {
  const changes = await runtime.changes();
  if (changes.length === 0) return "No files changed.";
  const names = changes.slice(0, MAX_NAMED).map(({ path }) => makeVisible(path));
  const more = changes.length > MAX_NAMED ? ` and ${changes.length - MAX_NAMED} more` : "";
  return `Changed files: ${names.join(", ")}${more}.${UNDO_HINTS[task.source]?.(task) ?? ""}`;
}

function agentLimits({ max_attempts: _attempts, retry_base_ms: _base, ...limits }: TaskLimits): AgentLimits {
  return limits;
}

/** Earlier messages of the chat that the model gets: twenty questions with their answers. */
const HISTORY = 40;

/** Providers require alternating questions and answers. */
async function readHistory({ task }: Lease, store: Store): Promise<readonly Message[]> {
  const rows = await store.history.before(task.task_id, HISTORY);
  return rows.flatMap(({ role, text }, index): Message[] => {
    if (role === "assistant") return index === 0 ? [] : [{ role, text }]; // its question is beyond the limit
    const isAnswered = rows[index + 1]?.role === "assistant";
    return [{ role, text }, ...(isAnswered ? [] : [{ role: "assistant" as const, text: UNANSWERED }])];
  });
}

const UNANSWERED = "(This ended without an answer.)";

/** The agent's events are children of the event that created the task. */
async function parentOf({ task }: Lease, store: Store): Promise<{ parent_id?: string }> {
  const [first] = await store.events.read({ run_id: task.run_id, limit: 1 });
  return first === undefined ? {} : { parent_id: first.event.event_id };
}

/** Whether a retry may help: not with a wrong key, but possibly after a timeout or an unexplained failure. */
function mayHelp(reason: FailureReason | undefined): boolean {
  return reason === undefined || reason === "breaker_open" || REASONS[reason].retry;
}

function finishFor({ outcome, answer, error }: AgentOutcome, lease: Lease, options: RunTaskOptions): Finish {
  const { limits, clock } = options;
  if (outcome === "parked") return { outcome: "parked" };
  if (outcome === "completed") return { outcome: "done", reply: answer };
  const message = `${error?.code ?? "InternalError"}: ${error?.message ?? "the agent gave no reason"}`;
  if (outcome === "cancelled") return { outcome: "cancelled", error: message, reply: answer };
  if (error?.code !== "ModelFailed" || !mayHelp(error.reason))
    return { outcome: "failed", error: message, reply: message };
  // A model that did not answer may answer later; no other failure is fixed by a retry.
  if (lease.attempt >= limits.max_attempts) return { outcome: "dead", error: message, reply: message };
  const wait = backoffMs(lease.attempt, { baseMs: limits.retry_base_ms, random: Math.random });
  return { outcome: "retry", error: message, retry_at: clock() + wait };
}
