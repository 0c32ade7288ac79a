import type { RuntimeEvent } from "@autonous/runtime";
import type { EventType, Journal } from "@autonous/runtime/internal";
import { workedMs } from "./usage/wall-time.ts";

interface Turn {
  readonly started: RuntimeEvent;
  /** Summaries, the round itself and switches of the model, in order. */
  readonly asked: RuntimeEvent[];
  /** `model.completed` or `model.failed` of the round itself. */
  model?: RuntimeEvent;
  completed?: RuntimeEvent;
}

interface Call {
  started?: RuntimeEvent;
  /** `tool_call.completed` or `tool_call.failed`. */
  ended?: RuntimeEvent;
}

export type RecordedTurn = Readonly<Omit<Turn, "asked">> & { readonly asked: readonly RuntimeEvent[] };
export type RecordedCall = Readonly<Call>;

/** How far a task has come according to the journal. The loop replays it without repeating anything. */
export interface AgentRecord {
  /** `agent.started` of the current attempt. */
  readonly started?: RuntimeEvent;
  /** Its turns; the last one may be unfinished. */
  readonly turns: readonly RecordedTurn[];
  /** `agent.completed` or `agent.failed`. */
  readonly ended?: RuntimeEvent;
  /** Turns of earlier, failed attempts. */
  readonly earlier: readonly RecordedTurn[];
  /** `model.billed`: charges beside the rounds. */
  readonly billed: readonly RuntimeEvent[];
  /** Every call of the task, by its `tool_call_id`. */
  readonly calls: ReadonlyMap<string, RecordedCall>;
  /** How long the attempt has worked. */
  readonly worked_ms: number;
}

interface Draft {
  started?: RuntimeEvent;
  turns: Turn[];
  ended?: RuntimeEvent;
  billed: RuntimeEvent[];
  readonly earlier: Turn[];
  readonly calls: Map<string, Call>;
  /** All events of the attempt. */
  timeline: RuntimeEvent[];
}

/** How each event changes the record. Other events do not matter for resuming. */
// oxfmt-ignore
const PLACES: Partial<Record<EventType, (draft: Draft, event: RuntimeEvent) => void>> = {
  "task.queued":          startNewAttempt,
  "task.started":         startNewAttempt,
  "task.retry_scheduled": startNewAttempt,
  "agent.started":        (draft, event) => { draft.started = event; draft.timeline = [event]; },
  "turn.started":         (draft, event) => { draft.turns.push({ started: event, asked: [] }); },
  "model.completed":      addModelEvent,
  "model.failed":         addModelEvent,
  "model.switched":       addModelEvent,
  "model.billed":         (draft, event) => { draft.billed.push(event); },
  "turn.completed":       (draft, event) => { turnOf(draft, event).completed = event; },
  "tool_call.started":    (draft, event) => { callOf(draft, event).started = event; },
  "tool_call.completed":  (draft, event) => { callOf(draft, event).ended = event; },
  "tool_call.failed":     (draft, event) => { callOf(draft, event).ended = event; },
  "agent.completed":      (draft, event) => { draft.ended = event; },
  "agent.failed":         (draft, event) => { draft.ended = event; },
};

/** Reads how far a task has come in this run. */
export async function readRecord(journal: Journal, task_id: string): Promise<AgentRecord> {
  const draft: Draft = { turns: [], billed: [], earlier: [], calls: new Map(), timeline: [] };
  for await (const event of journal.read()) {
    if (event.task_id !== task_id) continue;
    draft.timeline.push(event);
    PLACES[event.type]?.(draft, event);
  }
  const { timeline, ...record } = draft;
  return { ...record, worked_ms: draft.started === undefined ? 0 : workedMs(timeline) };
}

function addModelEvent(draft: Draft, event: RuntimeEvent): void {
  const turn = turnOf(draft, event);
  turn.asked.push(event);
  if (event.type !== "model.switched" && event.payload["kind"] !== "summary") turn.model = event;
}

/** A failed attempt is over, and its turns are kept. An interrupted or completed one stays current. */
function startNewAttempt(draft: Draft): void {
  if (draft.ended?.type !== "agent.failed") return;
  draft.earlier.push(...draft.turns);
  draft.turns = [];
  draft.billed = [];
  draft.timeline = [];
  delete draft.started;
  delete draft.ended;
}

function turnOf({ turns }: Draft, { parent_id, event_id }: RuntimeEvent): Turn {
  const turn = turns.findLast(({ started }) => started.event_id === parent_id);
  if (turn === undefined)
    throw new Error(`The event "${event_id}" does not belong to a turn: the audit log of the run is damaged`);
  return turn;
}

function callOf({ calls }: Draft, { payload }: RuntimeEvent): Call {
  const id = String(payload["tool_call_id"]);
  const call = calls.get(id) ?? {};
  calls.set(id, call);
  return call;
}
