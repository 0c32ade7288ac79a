import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { raceCommands } from "./campaigns/race-commands.ts";
import { runRace } from "./campaigns/race.ts";

const canRace = spawnSync("bwrap", ["--version"]).status === 0 && existsSync("/usr/bin/perl");
const needs = canRace ? "" : " (skipped: needs bwrap and perl)";

test("links that are flipped while calls run never show the outside", async () => {
  const { breaches, outcomes } = await runRace(6000);
  expect(breaches).toBe(0);
  // The race was one: some calls got through, and some met a link in the way.
  expect(outcomes["ok"]).toBeGreaterThan(0);
  expect(outcomes["PathTraversalBlocked"]).toBeGreaterThan(0);
});

for (const apart of [false, true]) {
  const whose = apart ? "a command of another process" : "a command";
  test.skipIf(!canRace)(`folders that ${whose} moves while others start open nothing to them${needs}`, async () => {
    const { breaches, outcomes, exchanges } = await raceCommands(30, { apart });

    expect(breaches).toEqual([]);
    expect(outcomes["ok"]).toBeGreaterThan(0);
    expect(exchanges).toBeGreaterThan(0);
  });
}
