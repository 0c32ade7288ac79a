import { expect, test } from "vitest";
import { runCampaign } from "./campaigns/kill/campaign.ts";
import type { CampaignResult } from "./campaigns/kill/campaign.ts";

/** `npm run campaign:kill`, shorter. Another seed every day is what the campaign itself is for. */

const program = process.env["BUILT_PROGRAM"] ?? "";

/** In words: a person who reads this wants to know where to look and how to do it again. */
function told({ failures }: CampaignResult): string[] {
  return failures.flatMap(({ problems, folder, again }) => [...problems, `kept in ${folder}`, `again by ${again}`]);
}

test(
  "a hundred kills at random instants lose no task, repeat no call and leave nothing behind",
  { timeout: 900_000 },
  async () => {
    const result = await runCampaign({ program, cycles: 100, seed: 20_262, parts: ["random"], side_by_side: 2 });
    expect(told(result)).toEqual([]);
    const { figures } = result;
    // It was a campaign: tasks were cut off, calls were cut off, people were asked, and worlds with and without a model.
    expect(figures.cycles).toBe(100);
    for (const name of ["resumed", "interrupted", "model_requests"] as const)
      expect([name, figures[name]]).toEqual([name, expect.toSatisfy((count: number) => count > 0)]);
    for (const state of ["used", "denied"]) expect(figures.approvals[state]).toBeGreaterThan(0);
  },
);

test("a kill after any event of a task loses and repeats nothing either", { timeout: 900_000 }, async () => {
  const parts = ["boundaries"] as const;
  const result = await runCampaign({ program, cycles: 1, seed: 1, parts, side_by_side: 2, kinds: ["granted"] });
  expect(told(result)).toEqual([]);
  expect(result.figures.cycles).toBeGreaterThan(20);
});
