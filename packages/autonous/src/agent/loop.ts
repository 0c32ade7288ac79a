import { isParked } from "@autonous/runtime";
import type { ErrorCode, RuntimeEvent } from "@autonous/runtime";
import { resultText } from "../model/result-text.ts";
import { settleCalls } from "./calls.ts";
import { writeCorrection } from "./instructions.ts";
import { reachedLimit } from "./limits.ts";
import { askModel, recordedRound } from "./model-round.ts";
import type { Round } from "./model-round.ts";
import { openRun } from "./run.ts";
import type { AgentOptions, AgentOutcome, Run } from "./run.ts";

/** How a run ends. */
type End = { readonly answer: string } | { readonly code: ErrorCode; readonly message: string } | "parked";

interface Turn {
  /** Of its start. */
  readonly event_id: string;
  readonly round: Round;
  /** The model was asked before a crash, or by an earlier attempt. */
  readonly isFromRecord: boolean;
}

/**
 * Does a task: asks the model, makes its calls, and again, until there is an answer or a reason to stop. A task that the
 * run's journal knows already goes on from its last recorded step; one that has ended there gives what it came to.
 * Throws only when the journal, or a function of the host, does.
 */
export async function runAgent(options: AgentOptions): Promise<AgentOutcome> {
  const run = await openRun(options);
  if (run.record.ended !== undefined) return recordedOutcome(run.record.ended);
  const agent_id = run.record.started?.event_id ?? (await startAgent(run));
  await recallEarlier(run);
  let end: End | undefined;
  while (end === undefined) end = reasonToStop(run) ?? (await takeTurn(run, agent_id));
  return await finish(run, agent_id, end);
}

async function startAgent(run: Run): Promise<string> {
  const { task, provider, limits } = run.options;
  const payload = { task: run.redact(task.text), provider: provider.name, limits: { ...limits } };
  return await run.write({ type: "agent.started", parent_id: task.parent_id ?? null, payload });
}

/** An attempt after one that failed goes on from what that one found out; its limits are counted anew. */
async function recallEarlier(run: Run): Promise<void> {
  for (const { started, model } of run.record.earlier) {
    if (model === undefined) continue;
    await follow(run, { event_id: started.event_id, round: recordedRound(model), isFromRecord: true });
  }
  run.invalidInARow = 0;
  run.done.length = 0;
}

/** A turn that has begun is gone through with; another one is not begun without asking. */
function reasonToStop(run: Run): End | undefined {
  if (run.turns < run.record.turns.length) return undefined;
  if (run.signal.aborted) return { code: "Cancelled", message: `The run was cancelled after ${run.turns} turns` };
  const reason = reachedLimit(run.options.limits, run);
  return reason === undefined ? undefined : { code: "LimitReached", message: `${reason}. ${doneSoFar(run)}` };
}

async function takeTurn(run: Run, agent_id: string): Promise<End | undefined> {
  const past = run.record.turns[run.turns];
  run.turns += 1;
  const payload = { turn: run.turns };
  const event_id = past?.started.event_id ?? (await run.write({ type: "turn.started", parent_id: agent_id, payload }));
  const round = past?.model === undefined ? await askModel(run, event_id) : recordedRound(past.model);
  const end = await follow(run, { event_id, round, isFromRecord: past?.model !== undefined });
  if (past?.completed === undefined && end !== "parked") {
    await run.write({ type: "turn.completed", parent_id: event_id, payload: { ...payload, outcome: round.kind } });
  }
  return end;
}

/** Does what the model said. */
async function follow(run: Run, { event_id, round, isFromRecord }: Turn): Promise<End | undefined> {
  run.rounds += 1;
  if (round.kind === "failed") return { code: round.code, message: round.message };
  run.messages.push({ role: "assistant", text: round.text });
  if (round.kind === "invalid") return correct(run, round.message);
  run.invalidInARow = 0;
  if (round.kind === "final") return { answer: round.answer };
  const settled = await settleCalls(run, { calls: round.calls, parent_id: event_id, isFromRecord });
  if (settled.some(({ result }) => isParked(result))) return "parked"; // what has ended is on record
  for (const { call, result } of settled) {
    const { tool_call_id } = call;
    const name = run.redact(call.name);
    run.messages.push({ role: "tool", tool_call_id, name, text: resultText(result), result });
    run.done.push(`${name} ${result.error === null ? "ok" : `failed (${result.error.code})`}`);
  }
  return undefined;
}

/** The model may mend its reply once; a second one in a row that cannot be used ends the run (spec 1, Model replies). */
function correct(run: Run, message: string): End | undefined {
  run.invalidInARow += 1;
  run.messages.push({ role: "user", text: writeCorrection(message) });
  if (run.invalidInARow < 2) return undefined;
  return { code: "InvalidReply", message: `The model's reply could not be used, twice in a row. ${message}` };
}

async function finish(run: Run, parent_id: string, end: End): Promise<AgentOutcome> {
  const counts = { turns: run.turns, calls: run.done.length };
  if (end === "parked") return { outcome: "parked", answer: "", ...counts };
  if ("answer" in end) {
    await run.write({ type: "agent.completed", parent_id, payload: { answer: end.answer, ...counts } });
    return { outcome: "completed", answer: end.answer, ...counts };
  }
  const { code, message } = end;
  await run.write({ type: "agent.failed", parent_id, payload: { code, message, ...counts, done: run.done } });
  return failedOutcome({ code, message, ...counts });
}

interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
  readonly turns: number;
  readonly calls: number;
}

function failedOutcome({ code, message, turns, calls }: Failure): AgentOutcome {
  return { outcome: code === "Cancelled" ? "cancelled" : "failed", answer: "", error: { code, message }, turns, calls };
}

/** Our own event: `finish` wrote it. */
function recordedOutcome({ type, payload }: RuntimeEvent): AgentOutcome {
  if (type === "agent.failed") return failedOutcome(payload as unknown as Failure);
  const { answer, turns, calls } = payload as { answer: string; turns: number; calls: number };
  return { outcome: "completed", answer, turns, calls };
}

const MAX_TOLD = 10;

function doneSoFar({ done }: Run): string {
  if (done.length === 0) return "No call was made";
  const told = done.slice(-MAX_TOLD).join(", ");
  return `Done so far: ${done.length > MAX_TOLD ? `${done.length} calls, the last of them ` : ""}${told}`;
}
