import { expect, test } from "vitest";
import { runRace } from "./campaigns/race.ts";

test("links that are flipped while calls run never show the outside", async () => {
  const { breaches, outcomes } = await runRace(6000);
  expect(breaches).toBe(0);
  // The race was one: some calls got through, and some met a link in the way.
  expect(outcomes["ok"]).toBeGreaterThan(0);
  expect(outcomes["PathTraversalBlocked"]).toBeGreaterThan(0);
});
