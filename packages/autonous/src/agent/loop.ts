import { isParked, toolsFoundBy } from "@autonous/runtime/internal";
import type { ToolCallResult } from "@autonous/runtime";
import { problemOfReply } from "../model/failures/reply-words.ts";
import { resultText } from "../model/prompt/result-text.ts";
import type { RequestedCall } from "./replies/requested-calls.ts";
import { settleCalls } from "./settle-calls.ts";
import { CONTINUE, cutAnswer, joinPieces, MAX_CONTINUATIONS, withPieces } from "./replies/answer-pieces.ts";
import { writeCorrection, writeNoProgress } from "./instructions.ts";
import { recallBilled } from "./usage/bookings.ts";
import { askModel, recallRound } from "./model-round.ts";
import { describeCycle } from "./no-progress.ts";
import type { Cycle } from "./no-progress.ts";
import { progressText, finish, recordedOutcome } from "./outcome.ts";
import type { End } from "./outcome.ts";
import type { Round } from "./replies/reply.ts";
import { openRun } from "./agent-run.ts";
import type { AgentOptions, AgentOutcome, Run } from "./agent-run.ts";

interface Turn {
  /** `event_id` of its start. */
  readonly event_id: string;
  readonly round: Round;
  /** The model was asked before a crash, or by an earlier attempt. */
  readonly isFromRecord: boolean;
}

/**
 * Runs a task: asks the model, runs its calls, and repeats until there is an answer or a reason to stop. A task that
 * the run's journal knows resumes after its last recorded step; if it has ended, its recorded outcome is returned.
 * Throws only if the journal or a function of the host does.
 */
export async function runAgent(options: AgentOptions): Promise<AgentOutcome> {
  const run = await openRun(options);
  if (run.record.ended !== undefined) return recordedOutcome(run.record.ended);
  const agent_id = run.record.started?.event_id ?? (await startAgent(run));
  await recallEarlier(run);
  for (const event of run.record.billed) recallBilled(run, event);
  let end: End | undefined;
  while (end === undefined) end = reasonToStop(run) ?? (await takeTurn(run, agent_id));
  return await finish(run, agent_id, withPieces(run, end));
}

async function startAgent(run: Run): Promise<string> {
  const { provider } = run;
  const { task, limits } = run.options;
  const parent = task.parent_run_id === undefined ? {} : { parent_run_id: task.parent_run_id };
  const about = { task: run.redact(task.text), provider: provider.name, limits: { ...limits }, ...parent };
  const history = task.history === undefined ? {} : { history: task.history.length };
  const window = task.window === undefined ? {} : { window: { ...task.window } };
  const source = task.source === undefined ? {} : { source: task.source };
  const payload = { ...about, ...source, ...history, ...window, project: { ...run.project } };
  return await run.write({ type: "agent.started", parent_id: task.parent_id ?? null, payload });
}

/** A new attempt after a failed one starts with its results; the limits are reset. */
async function recallEarlier(run: Run): Promise<void> {
  for (const turn of run.record.earlier) {
    const round = recallRound(run, turn);
    if (round !== undefined) await follow(run, { event_id: turn.started.event_id, round, isFromRecord: true });
  }
  run.provider = run.models[0] ?? run.provider;
  run.invalidInARow = 0;
  run.done.length = 0;
  run.files_changed.clear();
  run.meter.reset();
  run.watch.reset();
  run.isWarned = false;
}

/** A turn that has started is finished; limits are checked before a new one. */
function reasonToStop(run: Run): End | undefined {
  if (run.turns < run.record.turns.length) return undefined;
  if (run.signal.aborted) return { code: "Cancelled", message: `The run was cancelled after ${run.turns} turns` };
  const reached = run.meter.reached(run.turns, run.provider);
  return reached && { code: reached.code, message: `${reached.message}. ${progressText(run)}` };
}

async function takeTurn(run: Run, agent_id: string): Promise<End | undefined> {
  const past = run.record.turns[run.turns];
  run.turns += 1;
  const payload = { turn: run.turns };
  const event_id = past?.started.event_id ?? (await run.write({ type: "turn.started", parent_id: agent_id, payload }));
  const recalled = past && recallRound(run, past);
  const round = recalled ?? (await askModel(run, event_id));
  const end = await follow(run, { event_id, round, isFromRecord: recalled !== undefined });
  if (past?.completed === undefined && end !== "parked") {
    await run.write({ type: "turn.completed", parent_id: event_id, payload: { ...payload, outcome: round.kind } });
  }
  return end;
}

/** Processes the reply of a round. */
async function follow(run: Run, { event_id, round, isFromRecord }: Turn): Promise<End | undefined> {
  run.rounds += 1;
  if (round.kind === "failed") return endOfFailure(run, round);
  if (round.said !== undefined) run.messages.push(round.said);
  if (round.kind === "invalid") return correct(run, round);
  run.invalidInARow = 0;
  if (round.kind === "cut") return continueAnswer(run, round.answer);
  const pieces = run.pieces.splice(0);
  if (round.kind === "final") {
    const isWhole = pieces.length === 0;
    return { answer: isWhole ? round.answer : run.redact(joinPieces([...pieces, round.answer])).trim() };
  }
  const settled = await settleCalls(run, { calls: round.calls, parent_id: event_id, isFromRecord });
  if (settled.some(({ result }) => isParked(result))) return "parked"; // completed calls are recorded
  let cycle: Cycle | undefined;
  for (const { call, result } of settled) cycle = takeResult(run, call, result) ?? cycle;
  return cycle && warn(run, describeCycle(cycle));
}

function endOfFailure(run: Run, { code, message, reason }: Extract<Round, { readonly kind: "failed" }>): End {
  const why = reason === undefined ? {} : { reason };
  return {
    code,
    message: code === "Timeout" || code === "LimitReached" ? `${message}. ${progressText(run)}` : message,
    ...why,
  };
}

/** Adds the result to the messages. Returns the cycle that the call completes, if any. */
function takeResult(run: Run, call: RequestedCall, result: ToolCallResult): Cycle | undefined {
  const name = run.redact(call.name);
  run.messages.push({ role: "tool", tool_call_id: call.tool_call_id, name, text: resultText(result), result });
  run.done.push(`${name} ${result.error === null ? "ok" : `failed (${result.error.code})`}`);
  for (const file of result.artifacts.files_changed) run.files_changed.add(file);
  if (result.ok) for (const found of toolsFoundBy(call, run.options.runtime.tools())) run.found.add(found);
  return run.watch.note({ name: call.name, arguments: call.arguments, result });
}

/** The model may correct an invalid reply once; a second invalid one in a row ends the run (spec 1, Model replies). */
function correct(run: Run, { message, advice }: Extract<Round, { readonly kind: "invalid" }>): End | undefined {
  run.invalidInARow += 1;
  run.messages.push({ role: "user", text: writeCorrection(message, run.provider.protocol ?? "plain") });
  if (run.invalidInARow < 2) return undefined;
  const why = problemOfReply(message);
  const next = advice ?? "Try again or try another model";
  return { code: "InvalidReply", message: `The model's reply could not be used, twice in a row: ${why}. ${next}` };
}

/** A truncated answer is continued a few times, then returned as far as it goes. */
function continueAnswer(run: Run, piece: string): End | undefined {
  run.pieces.push(piece);
  if (run.pieces.length > MAX_CONTINUATIONS) return cutAnswer(run);
  run.messages.push({ role: "user", text: CONTINUE });
  return undefined;
}

/** A model that repeats itself is warned once; if it continues, the run ends (spec 4, The loop). */
function warn(run: Run, what: string): End | undefined {
  if (run.isWarned) return { code: "LimitReached", message: `Stopped: no progress: ${what}. ${progressText(run)}` };
  run.isWarned = true;
  run.messages.push({ role: "user", text: writeNoProgress(what) });
  return undefined;
}
