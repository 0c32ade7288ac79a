import fc from "fast-check";
import { expect, test } from "vitest";
import { REASONS } from "./model-failure.ts";
import type { Failure, FailureReason } from "./model-failure.ts";
import { planRetry, RETRY } from "./retry.ts";

const LIMITS = { max_attempts: 5, base_ms: 1000, longest_ms: 8000, total_ms: 60_000 };
const server: Failure = { reason: "server_error", message: "500" };
const limited = (wait_ms: number): Failure => ({ reason: "rate_limited", message: "429", wait_ms });

// oxfmt-ignore
const PLANS = [
  { title: "the first failure",                    failure: server,          tried: { attempts: 1, elapsed_ms: 0, random: 0 },        plan: { wait_ms: 500 } },
  { title: "the first failure, other dice",        failure: server,          tried: { attempts: 1, elapsed_ms: 0, random: 0.5 },      plan: { wait_ms: 750 } },
  { title: "the third",                            failure: server,          tried: { attempts: 3, elapsed_ms: 0, random: 0 },        plan: { wait_ms: 2000 } },
  { title: "the fourth, at the longest wait",      failure: server,          tried: { attempts: 4, elapsed_ms: 0, random: 0.999_99 }, plan: { wait_ms: 8000 } },
  { title: "the last attempt",                     failure: server,          tried: { attempts: 5, elapsed_ms: 0, random: 0 },        plan: { stop: "after 5 attempts" } },
  { title: "no time left",                         failure: server,          tried: { attempts: 2, elapsed_ms: 59_500, random: 0 },   plan: { stop: "after 2 attempts in 60 s" } },
  { title: "a wait that the server names",         failure: limited(7000),   tried: { attempts: 1, elapsed_ms: 0, random: 0 },        plan: { wait_ms: 7000 } },
  { title: "the same, and a little more",          failure: limited(7000),   tried: { attempts: 1, elapsed_ms: 0, random: 0.5 },      plan: { wait_ms: 7350 } },
  { title: "a wait longer than our own",           failure: limited(30_000), tried: { attempts: 1, elapsed_ms: 0, random: 0 },        plan: { wait_ms: 30_000 } },
  { title: "a server that says: at once",          failure: limited(0),      tried: { attempts: 1, elapsed_ms: 0, random: 0.9 },      plan: { wait_ms: 0 } },
  { title: "a server that says so again",          failure: limited(0),      tried: { attempts: 2, elapsed_ms: 0, random: 0 },        plan: { wait_ms: 1000 } },
  { title: "a short wait that did not do",         failure: limited(100),    tried: { attempts: 3, elapsed_ms: 0, random: 0 },        plan: { wait_ms: 2000 } },
  { title: "a wait longer than there is time",     failure: limited(90_000), tried: { attempts: 1, elapsed_ms: 0, random: 0 },        plan: { stop: "after 1 attempts in 0 s, and the server asks to wait 90 s" } },
] as const;

for (const { title, failure, tried, plan } of PLANS) {
  test(`after ${title}: ${JSON.stringify(plan)}`, () => {
    expect(planRetry(failure, tried, LIMITS)).toEqual(plan);
  });
}

const lasting = (Object.keys(REASONS) as FailureReason[]).filter((reason) => !REASONS[reason].retry);

test.each(lasting)("%s is not retried", (reason) => {
  const tried = { attempts: 1, elapsed_ms: 0, random: 0 };
  expect(planRetry({ reason, message: "", wait_ms: 1 }, tried, LIMITS)).toEqual({ stop: "" });
});

test("no attempt starts after the total time limit, even if the server requests a later retry", () => {
  fc.assert(
    fc.property(
      fc.nat(20),
      fc.nat(2 * RETRY.total_ms),
      fc.option(fc.nat(2 * RETRY.total_ms), { nil: undefined }),
      fc.double({ min: 0, max: 0.999_999, noNaN: true }),
      (attempts, elapsed_ms, wait_ms, random) => {
        const failure: Failure = { reason: "rate_limited", message: "", ...(wait_ms === undefined ? {} : { wait_ms }) };
        const plan = planRetry(failure, { attempts: attempts + 1, elapsed_ms, random }, RETRY);
        if ("stop" in plan) return;
        expect(plan.wait_ms).toBeGreaterThanOrEqual(wait_ms ?? 0);
        expect(elapsed_ms + plan.wait_ms).toBeLessThanOrEqual(RETRY.total_ms);
      },
    ),
  );
});
