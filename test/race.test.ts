import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { raceCommands } from "./campaigns/race-commands.ts";
import { runRace } from "./campaigns/race.ts";

const canRace = spawnSync("bwrap", ["--version"]).status === 0 && existsSync("/usr/bin/perl");
const needs = canRace ? "" : " (skipped: needs bwrap and perl)";

/** A busy machine takes its time to start processes. */
const LONG_MS = 300_000;

test("links that are flipped while calls run never show the outside", { timeout: LONG_MS }, async () => {
  const { breaches, outcomes } = await runRace(6000);
  expect(breaches).toBe(0);
  // The race was one: some calls got through, and some met a link in the way.
  expect(outcomes["ok"]).toBeGreaterThan(0);
  expect(outcomes["PathTraversalBlocked"]).toBeGreaterThan(0);
});

const RACES = [
  { title: "folders that a command moves while others start expose nothing to them", apart: false },
  { title: "folders that a command of another process moves while others start expose nothing to them", apart: true },
];

for (const { title, apart } of RACES) {
  test.skipIf(!canRace)(`${title}${needs}`, { timeout: LONG_MS }, async () => {
    const { breaches, outcomes, exchanges } = await raceCommands(20, { apart });

    expect(breaches).toEqual([]);
    expect(outcomes["ok"]).toBeGreaterThan(0);
    expect(exchanges).toBeGreaterThan(0);
  });
}
