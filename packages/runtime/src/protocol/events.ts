/** Every event name, in the order of spec 1, with what it says. `docs/events.md` is held to this table by a check. */
// oxfmt-ignore
export const EVENTS = {
  "task.queued":          "a message became a task",
  "task.started":         "a worker took the task",
  "task.resumed":         "a worker took the task again after a crash",
  "task.retry_scheduled": "the task failed in a way that a retry may help",
  "task.dead_lettered":   "the task was given up",
  "task.waiting_approval": "the task waits for a person",
  "task.completed":       "the task is done",
  "task.failed":          "the task failed for good",
  "task.cancelled":       "a person stopped the task",
  "agent.started":        "a run of the loop began",
  "agent.completed":      "the loop gave its final answer",
  "agent.failed":         "the loop ended without an answer",
  "turn.started":         "one round of model and calls began",
  "turn.completed":       "the round is over",
  "model.completed":      "the model answered",
  "model.failed":         "the model did not answer",
  "model.switched":       "the next model of the list is asked, since one is down or out of credit",
  "model.billed":         "a model request was billed outside of a completed round: a failed attempt, or a verdict on a call",
  "tool_call.started":    "a call is about to run",
  "tool_call.completed":  "a call ran and succeeded",
  "tool_call.failed":     "a call was refused or failed",
  "approval_required":    "a call waits for a person",
  "approval_granted":     "a person let a call through",
  "approval_denied":      "a person refused a call",
  "skill.activated":      "a skill restricts the calls that follow",
  "display":              "something to show at once",
  "todo":                 "the steps of the work, as they stand now",
  "progress":             "how far a call is: after its first second, at most one per second and tenth, fewer in long calls, and the last",
  "reply.sent":           "a channel took the reply",
  "undo.applied":         "a change was taken back",
  "access.granted":       "a person may use a channel of the service",
  "access.denied":        "a person who asked may not use a channel of the service",
  "access.revoked":       "a person may no longer use a channel of the service, or is no longer blocked there",
  "upkeep.pruned":        "runs, or what undo needs, are no longer kept; this is what is left of them",
  "upkeep.restored":      "the state folder was put back from a backup",
} as const;

/** A name of `EVENTS`. */
export type EventType = keyof typeof EVENTS;

/** `prev_hash` of the first event of a chain. */
export const FIRST_HASH: string = "0".repeat(64);
