interface StateRow {
  /** The task has ended. */
  readonly over: boolean;
  readonly to: readonly string[];
}

/**
 * The life of a task (spec 4, Queue): every state and what leaves it.
 *
 *   queued → in_progress → model_round ⇄ tool_round → reply_sent → done | failed
 *
 * From every state in which a worker holds the task: back to `queued` (retried later), to `in_progress` (resumed after
 * a crash), to `waiting_approval`, `failed`, `cancelled` and `dead_letter`. `reply_sent` means that the reply is in the
 * outbox and can no longer get lost; a task becomes `done` only through it. A person can retry failed, cancelled and
 * dead-lettered tasks, and drop failed and dead-lettered ones.
 */
// oxfmt-ignore
const TASK_STATES = {
  queued:           { over: false, to: ["in_progress", "cancelled"] },
  in_progress:      { over: false, to: ["model_round", "tool_round", "waiting_approval", "reply_sent", "failed", "cancelled", "dead_letter", "queued", "in_progress"] },
  model_round:      { over: false, to: ["tool_round", "waiting_approval", "reply_sent", "failed", "cancelled", "dead_letter", "queued", "in_progress"] },
  tool_round:       { over: false, to: ["model_round", "waiting_approval", "reply_sent", "failed", "cancelled", "dead_letter", "queued", "in_progress"] },
  waiting_approval: { over: false, to: ["model_round", "tool_round", "failed", "cancelled", "dead_letter", "queued", "in_progress"] },
  reply_sent:       { over: false, to: ["done", "failed", "cancelled", "dead_letter", "in_progress"] },
  done:             { over: true,  to: [] },
  failed:           { over: true,  to: ["queued", "cancelled"] },
  cancelled:        { over: true,  to: ["queued"] },
  dead_letter:      { over: true,  to: ["queued", "cancelled"] },
} as const satisfies Record<string, StateRow>;

export type TaskState = keyof typeof TASK_STATES;

export const TASK_STATE_NAMES = Object.keys(TASK_STATES) as readonly TaskState[];

export function isTaskState(name: string): name is TaskState {
  return Object.hasOwn(TASK_STATES, name);
}

/** States that a worker sets while it runs a task. */
export type WorkingState = "model_round" | "tool_round" | "reply_sent";

export function canMove(from: TaskState, to: TaskState): boolean {
  const reachable: readonly string[] = TASK_STATES[from].to;
  return reachable.includes(to);
}

export function isOver(state: TaskState): boolean {
  return TASK_STATES[state].over;
}
