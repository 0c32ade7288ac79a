import fc from "fast-check";
import { expect, test } from "vitest";
import { CircuitBreaker } from "./circuit-breaker.ts";
import type { BreakerState } from "./circuit-breaker.ts";

const OPTIONS = { threshold: 3, cooldown_ms: 100, longest_ms: 350 };

type Outcome = "ok" | "failed" | "abandoned";
interface Step {
  readonly at: number;
  readonly does?: Outcome;
  /** When the breaker says to come back; left out where it lets the call through. */
  readonly refused?: number;
  readonly state: "closed" | "open" | "half_open";
}

// oxfmt-ignore
const STORIES: readonly { title: string; steps: readonly Step[] }[] = [
  { title: "stays closed while calls do well", steps: [{ at: 0, does: "ok", state: "closed" }, { at: 1, does: "ok", state: "closed" }] },
  { title: "opens after failures in a row", steps: [
    { at: 0, does: "failed", state: "closed" }, { at: 1, does: "failed", state: "closed" }, { at: 2, does: "failed", state: "open" },
    { at: 3, refused: 102, state: "open" }, { at: 101, refused: 102, state: "open" } ] },
  { title: "forgets failures when a call does well", steps: [
    { at: 0, does: "failed", state: "closed" }, { at: 1, does: "failed", state: "closed" }, { at: 2, does: "ok", state: "closed" },
    { at: 3, does: "failed", state: "closed" }, { at: 4, does: "failed", state: "closed" } ] },
  { title: "closes when the trial does well", steps: [
    { at: 0, does: "failed", state: "closed" }, { at: 0, does: "failed", state: "closed" }, { at: 0, does: "failed", state: "open" },
    { at: 100, does: "ok", state: "closed" }, { at: 101, does: "failed", state: "closed" } ] },
  { title: "opens for twice as long when the trial fails, up to a limit", steps: [
    { at: 0, does: "failed", state: "closed" }, { at: 0, does: "failed", state: "closed" }, { at: 0, does: "failed", state: "open" },
    { at: 100, does: "failed", state: "open" }, { at: 299, refused: 300, state: "open" },
    { at: 300, does: "failed", state: "open" }, { at: 301, refused: 650, state: "open" },
    { at: 650, does: "failed", state: "open" }, { at: 651, refused: 1000, state: "open" } ] },
  { title: "tries again at once if the trial was abandoned", steps: [
    { at: 0, does: "failed", state: "closed" }, { at: 0, does: "failed", state: "closed" }, { at: 0, does: "failed", state: "open" },
    { at: 100, does: "abandoned", state: "open" }, { at: 100, does: "ok", state: "closed" } ] },
];

for (const { title, steps } of STORIES) {
  test(`a breaker ${title}`, () => {
    let now = 0;
    const breaker = new CircuitBreaker("host model", { ...OPTIONS, clock: () => now });
    for (const { at, does, refused, state } of steps) {
      now = at;
      const passage = breaker.enter();
      expect("retry_at" in passage ? passage.retry_at : undefined).toBe(refused);
      if ("settle" in passage && does !== undefined) passage.settle(does);
      expect(breaker.state).toMatchObject({ provider: "host model", state });
    }
  });
}

test("during a trial call all others are refused, and late failures of earlier calls change nothing", () => {
  let now = 0;
  const breaker = new CircuitBreaker("host model", { ...OPTIONS, clock: () => now });
  const early = Array.from({ length: 4 }, () => breaker.enter());
  for (const each of early.slice(0, 3)) if ("settle" in each) each.settle("failed");
  now = 100;
  const trial = breaker.enter();
  expect(breaker.state.state).toBe("half_open");
  expect(breaker.enter()).toEqual({ retry_at: 100 });
  const [, , , late] = early;
  if (late !== undefined && "settle" in late) late.settle("failed");
  expect(breaker.state.state).toBe("half_open");
  if ("settle" in trial) trial.settle("ok");
  expect(breaker.state).toEqual({ provider: "host model", state: "closed", failures_in_a_row: 0 });
});

test("no breaker stays open longer than its limit", () => {
  const outcomes = fc.array(fc.constantFrom<Outcome>("ok", "failed", "abandoned"), { maxLength: 60 });
  fc.assert(
    fc.property(outcomes, (all) => {
      let now = 0;
      const breaker = new CircuitBreaker("host model", { ...OPTIONS, clock: () => now });
      for (const outcome of all) {
        const passage = breaker.enter();
        if ("settle" in passage) passage.settle(outcome);
        else now = passage.retry_at;
        expect((breaker.state.retry_at ?? now) - now).toBeLessThanOrEqual(OPTIONS.longest_ms);
      }
    }),
  );
});

test("each change is reported exactly once: opened, on trial, opened for longer, closed", () => {
  let now = 0;
  const told: string[] = [];
  const onChange = ({ state, retry_at }: BreakerState): unknown => told.push(`${state} ${retry_at ?? "-"}`);
  const breaker = new CircuitBreaker("host model", { ...OPTIONS, clock: () => now, onChange });
  const call = (outcome: Outcome): void => {
    const passage = breaker.enter();
    if ("settle" in passage) passage.settle(outcome);
  };
  for (const outcome of ["ok", "failed", "failed", "failed", "failed"] as const) call(outcome);
  now = 100;
  call("failed");
  now = 300;
  call("ok");
  call("ok");
  expect(told).toEqual(["open 100", "half_open 100", "open 300", "half_open 300", "closed -"]);
});
