import * as fc from "fast-check";
import { expect, test } from "vitest";
import { backoffMs } from "./backoff.ts";

const CASES = [
  { attempt: 1, random: 0, waits: 1000 },
  { attempt: 1, random: 0.999_999, waits: 2000 },
  { attempt: 2, random: 0, waits: 2000 },
  { attempt: 3, random: 0.5, waits: 6000 },
  { attempt: 9, random: 0, waits: 256_000 },
  { attempt: 10, random: 0, waits: 300_000 },
  { attempt: 10, random: 0.999_999_9, waits: 600_000 },
  { attempt: 5000, random: 0.5, waits: 450_000 },
];

test.each(CASES)("attempt $attempt waits $waits ms for the random value $random", ({ attempt, random, waits }) => {
  expect(backoffMs(attempt, { baseMs: 2000, random: () => random })).toBe(waits);
});

test("no wait exceeds ten minutes, is below half of the doubled base, or is below the minimum of the previous attempt", () => {
  const dice = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10_000 }),
      fc.integer({ min: 0, max: 1_000_000 }),
      dice,
      (attempt, baseMs, drawn) => {
        const waits = backoffMs(attempt, { baseMs, random: () => drawn });
        const least = backoffMs(attempt, { baseMs, random: () => 0 });
        const leastBefore = backoffMs(Math.max(1, attempt - 1), { baseMs, random: () => 0 });
        expect(waits).toBeLessThanOrEqual(600_000);
        expect(waits).toBeGreaterThanOrEqual(least);
        expect(least).toBeGreaterThanOrEqual(leastBefore);
      },
    ),
  );
});
