import { simulate } from "../test/support/cache-simulation.ts";
import type { Scene, Simulated } from "../test/support/cache-simulation.ts";

const TURNS = 300;

/** More than the runs below say: nothing ever moves. */
const UNLIMITED = 100_000_000;

interface CacheRow extends Omit<Scene, "turns" | "real_tokens"> {
  readonly title: string;
  readonly real_tokens: number;
}

// oxfmt-ignore
const ROWS: readonly CacheRow[] = [
  { title: "window of 200k, a quarter of the results 20 kB", real_tokens: 200_000, large_results: 25 },
  { title: "window of 200k, every result 4 to 6 kB",         real_tokens: 200_000, large_results: 0, least_bytes: 4_000 },
  { title: "window of 100k, a quarter of the results 20 kB", real_tokens: 100_000, large_results: 25 },
  { title: "window of 100k, ten messages of a user",         real_tokens: 100_000, large_results: 10, tasks: 10 },
  { title: "window of 32k, a tenth of the results 20 kB",    real_tokens: 32_000,  large_results: 10 },
  { title: "window of 32k, a quarter of the results 20 kB",  real_tokens: 32_000,  large_results: 25 },
  { title: "window of 60k that was taken for 200k",          real_tokens: 60_000,  large_results: 10, believed_tokens: 200_000 },
];

/** What the window of the agent costs with Anthropic's prompt cache. Nothing in it is timed: the figures are always the same. */
export async function benchPromptCache(): Promise<void> {
  console.log(`prompt cache over ${TURNS} turns, Anthropic's rules and prices (target: 90 % read from the cache)`);
  const floor = await simulate({ turns: TURNS, real_tokens: UNLIMITED, large_results: 25 });
  console.log(`  without a limit, append-only: ${percent(floor.read_share)} read, ${tokens(floor.cost)} per request`);
  for (const { title, ...scene } of ROWS) {
    const simulated = await simulate({ turns: TURNS, ...scene });
    if (simulated.outcomes.some((each) => each !== "completed")) throw new Error(`A run did not end well: ${title}`);
    console.log(`  ${title}: ${figures(simulated)}`);
  }
}

function figures({
  read_share,
  readable_share,
  cold,
  worst_read,
  cost,
  cost_ratio,
  strides,
  summaries,
  refused,
  fill,
}: Simulated): string {
  const least = fill.length === 0 ? "none" : percent(Math.min(...fill));
  return [
    `${percent(read_share)} read (append-only: ${percent(readable_share)})`,
    `${cold} requests below 50 % (the worst ${percent(worst_read)})`,
    `${tokens(cost)} per request, ${cost_ratio.toFixed(2)} of the same sizes append-only`,
    `${strides} strides with ${summaries} summaries, each from a window at least ${least} full`,
    ...(refused === 0 ? [] : [`${refused} refused`]),
  ].join("; ");
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}

function tokens(cost: number): string {
  return `price of ${Math.round(cost).toLocaleString("en-US")} tokens`;
}
