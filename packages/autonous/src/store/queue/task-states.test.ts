import { expect, test } from "vitest";
import { canMove, isOver, isTaskState, TASK_STATE_NAMES as STATES } from "./task-states.ts";
import type { TaskState } from "./task-states.ts";

const HELD = ["in_progress", "model_round", "tool_round", "waiting_approval"] as const;

test("a task can go through the states of the specification", () => {
  const way: TaskState[] = ["queued", "in_progress", "model_round", "tool_round", "model_round", "reply_sent", "done"];
  for (const [index, to] of way.slice(1).entries()) {
    expect(canMove(way[index] ?? "done", to), `${way[index]} to ${to}`).toBe(true);
  }
});

test("the states are exactly those of the specification", () => {
  const words =
    "queued in_progress model_round tool_round waiting_approval reply_sent done failed cancelled dead_letter";
  expect(STATES.join(" ")).toBe(words);
  for (const state of STATES) expect(isTaskState(state), state).toBe(true);
  for (const word of ["", "Done", "running", "toString", "__proto__"]) expect(isTaskState(word), word).toBe(false);
});

test("a task becomes done only through reply_sent", () => {
  expect(STATES.filter((state) => canMove(state, "done"))).toEqual(["reply_sent"]);
});

test.each(HELD)("a task in %s can be dead-lettered, stopped, retried and resumed after a crash", (state) => {
  for (const to of ["failed", "cancelled", "dead_letter", "queued", "in_progress"] as const) {
    expect(canMove(state, to), to).toBe(true);
  }
});

test("an ended task stays ended, except that a person can retry or drop an unsuccessful one", () => {
  const over = STATES.filter(isOver);
  expect(over).toEqual(["done", "failed", "cancelled", "dead_letter"]);
  const left = over.flatMap((from) => STATES.filter((to) => canMove(from, to)).map((to) => `${from} to ${to}`));
  expect(left).toEqual([
    "failed to queued",
    "failed to cancelled",
    "cancelled to queued",
    "dead_letter to queued",
    "dead_letter to cancelled",
  ]);
});

test("every state can be reached and, unless the task has ended, left", () => {
  for (const state of STATES) {
    expect(state === "queued" || STATES.some((from) => from !== state && canMove(from, state)), state).toBe(true);
    expect(isOver(state) || STATES.some((to) => to !== state && canMove(state, to)), state).toBe(true);
  }
});
