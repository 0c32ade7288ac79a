/**
 * Every event name, in the order of spec 1, with its description. A check keeps `docs/events.md` in sync with this
 * table.
 */
// oxfmt-ignore
export const EVENTS = {
  "task.queued":          "a message became a task",
  "task.started":         "a worker started the task",
  "task.resumed":         "a worker resumed the task after a crash",
  "task.retry_scheduled": "the task failed and will be retried",
  "task.dead_lettered":   "the task failed too often and is not retried",
  "task.waiting_approval": "the task waits for approval",
  "task.completed":       "the task is done",
  "task.failed":          "the task failed for good",
  "task.cancelled":       "the user cancelled the task",
  "agent.started":        "a run of the loop began",
  "agent.completed":      "the loop returned its final answer",
  "agent.failed":         "the loop ended without an answer",
  "turn.started":         "one round of model and calls began",
  "turn.completed":       "the round ended",
  "model.completed":      "the model answered",
  "model.failed":         "the model did not answer",
  "model.switched":       "fallback to the next model of the list: one is down or out of credit",
  "model.billed":         "a model request was billed outside of a completed round: a failed attempt, or a verdict on a call",
  "tool_call.started":    "a call is about to run",
  "tool_call.completed":  "a call ran and succeeded",
  "tool_call.failed":     "a call was refused or failed",
  "approval_required":    "a call waits for approval",
  "approval_granted":     "a person approved a call",
  "approval_denied":      "a person denied a call",
  "skill.activated":      "a skill restricts the calls that follow",
  "display":              "a message to show immediately",
  "todo":                 "the current list of steps",
  "progress":             "progress of a call: after its first second, at most one per second and per tenth, fewer in long calls, and the last",
  "reply.sent":           "a channel delivered the reply",
  "undo.applied":         "a change was undone",
  "access.granted":       "a person may use a channel of the service",
  "access.denied":        "a person's request to use a channel of the service was denied",
  "access.revoked":       "a person may no longer use a channel of the service, or is no longer blocked there",
  "upkeep.pruned":        "runs or undo data were deleted by retention; this summary remains",
  "upkeep.restored":      "the state folder was restored from a backup",
} as const;

/** A name of `EVENTS`. */
export type EventType = keyof typeof EVENTS;

/** `prev_hash` of the first event of a chain. */
export const FIRST_HASH: string = "0".repeat(64);
