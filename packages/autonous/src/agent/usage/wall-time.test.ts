import type { RuntimeEvent } from "@autonous/runtime";
import type { EventType } from "@autonous/runtime/internal";
import { expect, test } from "vitest";
import { waitedMs, workedMs } from "./wall-time.ts";

/** `at` in seconds. */
function events(...rows: readonly (readonly [at: number, type: EventType, tool_call_id?: string])[]): RuntimeEvent[] {
  return rows.map(([at, type, tool_call_id]) => {
    const payload = tool_call_id === undefined ? {} : { tool_call_id };
    return { type, ts: new Date(at * 1000).toISOString(), payload } as unknown as RuntimeEvent;
  });
}

// oxfmt-ignore
const CASES = [
  { title: "nothing",                          of: events(),                                                                                                            waited: 0,  worked: 0 },
  { title: "work without waiting",             of: events([0, "agent.started"], [5, "turn.started"], [9, "turn.completed"]),                                            waited: 0,  worked: 9 },
  { title: "a person who says yes",            of: events([0, "agent.started"], [1, "approval_required", "a"], [51, "approval_granted", "a"], [53, "tool_call.completed", "a"]), waited: 50, worked: 3 },
  { title: "a person who does not answer",     of: events([0, "agent.started"], [1, "approval_required", "a"], [61, "tool_call.failed", "a"]),                          waited: 60, worked: 1 },
  { title: "two at once",                      of: events([0, "agent.started"], [1, "approval_required", "a"], [2, "approval_required", "b"], [11, "approval_granted", "a"], [21, "approval_granted", "b"]), waited: 20, worked: 1 },
  { title: "one who is still waited for",      of: events([0, "agent.started"], [1, "approval_required", "a"], [4, "turn.started"]),                                    waited: 3,  worked: 1 },
  { title: "a crash, and a worker after it",   of: events([0, "agent.started"], [3, "turn.started"], [903, "task.resumed"], [905, "turn.completed"]),                   waited: 0,  worked: 5 },
] as const;

for (const { title, of, waited, worked } of CASES) {
  test(`${title}: waiting time and working time are separated`, () => {
    expect(waitedMs(of)).toBe(waited * 1000);
    expect(workedMs(of)).toBe(worked * 1000);
  });
}

test("an open question counts as waiting time until now", () => {
  expect(waitedMs(events([0, "agent.started"], [1, "approval_required", "a"]), 31_000)).toBe(30_000);
});
