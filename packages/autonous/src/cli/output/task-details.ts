import type { Approval } from "@autonous/runtime/internal";
import type { ForgottenRun, Store, Task } from "../../store/store.ts";

type Details = NonNullable<Awaited<ReturnType<Store["tasks"]["get"]>>>;

export interface ShownTask extends Details {
  /** Pending approvals. */
  readonly approvals: readonly Approval[];
  /** Set if its record was pruned. */
  readonly forgotten?: ForgottenRun;
}

/** The facts about a task, one per row. */
export function factRows({ task, reply, reply_sent_at }: ShownTask): string[][] {
  const at = (ms: number): string => new Date(ms).toISOString();
  return [
    ["task", task.task_id],
    ["run", task.run_id],
    ["state", task.cancel_by === null || task.finished_at !== null ? task.state : `${task.state}, being stopped`],
    ["chat", task.lane],
    ...(task.user === null ? [] : [["from", task.user]]),
    ["attempts", `${task.attempts} (${task.crashes} crashes)`],
    ...(task.retries === 0 ? [] : [["retried", `${task.retries === 1 ? "once" : `${task.retries} times`}, manually`]]),
    ["created", at(task.created_at)],
    ...(task.started_at === null ? [] : [["started", at(task.started_at)]]),
    ...(task.finished_at === null ? [] : [["ended", at(task.finished_at)]]),
    ...(task.state === "queued" && task.attempts > 0 ? [["next attempt", at(task.run_at)]] : []),
    ["text", task.text.replaceAll("\n", " ")],
    ...(task.error === null ? [] : [["error", task.error]]),
    ...(task.cancel_by === null || task.error !== null ? [] : [["stopped by", task.cancel_by]]),
    ...(reply === null ? [] : [["reply", reply_sent_at === null ? "not sent yet" : `sent ${at(reply_sent_at)}`]]),
  ];
}

const KINDS = { text: "the answer", file: "a file", approval: "a question", display: "a message" } as const;

/** Undelivered messages, and why. */
export function unsentRows(unsent: Details["unsent"]): string[][] {
  return unsent.map(({ kind, channel, attempts, error, next_at }) => {
    const tried = attempts === 0 ? "not tried yet" : `tried ${attempts === 1 ? "once" : `${attempts} times`}`;
    const next = next_at === null ? "gave up" : next_at > 0 ? `next ${new Date(next_at).toISOString()}` : "due now";
    return ["not sent", `${KINDS[kind]} by ${channel}`, [tried, next, ...(error === null ? [] : [error])].join("; ")];
  });
}

/** The actions available for a task, by state. */
// oxfmt-ignore
const STEPS: Readonly<Partial<Record<Task["state"], readonly ("retry" | "drop" | "cancel")[]>>> = {
  queued:           ["cancel"],
  in_progress:      ["cancel"],
  model_round:      ["cancel"],
  tool_round:       ["cancel"],
  waiting_approval: ["cancel"],
  failed:           ["retry", "drop"],
  cancelled:        ["retry"],
  dead_letter:      ["retry", "drop"],
};

const MEANING = {
  retry: "requeues it",
  drop: "discards it",
  cancel: "stops it",
} as const;

/** Commands to copy, each with its effect; empty if nothing is left to do. */
export function nextSteps({ task, approvals, forgotten, unsent }: ShownTask): string[][] {
  const { task_id, run_id, state, cancel_by, finished_at } = task;
  const isBeingStopped = cancel_by !== null && finished_at === null;
  const possible = isBeingStopped || forgotten !== undefined ? [] : (STEPS[state] ?? []);
  return [
    ...approvals.map(({ request }) => [`autonous approvals show ${request.approval_id}`, "shows what it waits for"]),
    ...possible.map((step) => [`autonous tasks ${step} ${task_id}`, MEANING[step]]),
    ...(unsent.some(({ kind, next_at }) => kind !== "display" && next_at === null)
      ? [[`autonous tasks resend ${task_id}`, "resends what could not be delivered"]]
      : []),
    ...(state === "queued" || forgotten !== undefined ? [] : [[`autonous events tree ${run_id}`, "shows what it did"]]),
  ];
}
