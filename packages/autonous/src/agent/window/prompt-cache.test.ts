import { expect, test } from "vitest";
import { simulate } from "../../../../../test/support/cache-simulation.ts";
import type { Scene } from "../../../../../test/support/cache-simulation.ts";

interface CacheCase extends Scene {
  readonly title: string;
  /** Least share of the input that is read from the cache. */
  readonly read: number;
  readonly strides: number;
  readonly summaries: number;
  readonly refused?: number;
  /** Least share of the real window that is in use when a stride comes, from the second one on. */
  readonly fill: number;
}

// oxfmt-ignore
const CASES: readonly CacheCase[] = [
  { title: "a window of 200k with results that are all too large for an excerpt", turns: 300, real_tokens: 200_000, large_results: 0, least_bytes: 4_000, read: 0.95, strides: 4, summaries: 3, fill: 0.8 },
  { title: "a window of 100k with large results",                turns: 300, real_tokens: 100_000, large_results: 25, read: 0.93, strides: 9,  summaries: 6,  fill: 0.8 },
  { title: "a window of 100k and a user who writes ten times",   turns: 300, real_tokens: 100_000, large_results: 10, tasks: 10, read: 0.95, strides: 5, summaries: 5, fill: 0.8 },
  { title: "a window of 32k",                                    turns: 300, real_tokens: 32_000,  large_results: 10, read: 0.9,  strides: 18, summaries: 15, fill: 0.65 },
  { title: "a window of 60k that was taken for 200k, after one refusal", turns: 300, real_tokens: 60_000, believed_tokens: 200_000, large_results: 10, read: 0.93, strides: 9, summaries: 9, refused: 1, fill: 0.8 },
];

for (const { title, read, strides, summaries, refused = 0, fill, ...scene } of CASES)
  test(`over 300 turns at least nine tenths of the input are read from the cache: ${title}`, async () => {
    const simulated = await simulate(scene);
    expect(new Set(simulated.outcomes)).toEqual(new Set(["completed"]));
    expect(simulated.billed.filter(({ isSummary }) => !isSummary)).toHaveLength(scene.turns);
    expect(simulated.read_share).toBeGreaterThanOrEqual(read);
    expect(simulated.cold).toBeLessThanOrEqual(simulated.strides);
    expect(simulated.strides).toBeLessThanOrEqual(strides);
    expect(simulated.summaries).toBeLessThanOrEqual(summaries);
    expect(simulated.refused).toBe(refused);
    expect(Math.min(...simulated.fill)).toBeGreaterThanOrEqual(fill);
    expect(simulated.cost_ratio).toBeLessThan(1.3);
    // What is appended to is read: also where one turn has more blocks than a lookup goes back.
    const appended = simulated.billed.slice(1).filter(({ isAppended }) => isAppended);
    for (const [at, { read_tokens, input_tokens }] of appended.entries())
      expect([at, read_tokens / input_tokens > 0.3]).toEqual([at, true]);
  }, 120_000);
