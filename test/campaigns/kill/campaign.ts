import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runBoundaries, WATCHED } from "./boundaries.ts";
import { judge } from "./checks/all.ts";
import { runCycle } from "./cycle.ts";
import type { KindName } from "./kinds.ts";
import { startModel } from "./model.ts";
import { startPhones } from "./phones.ts";
import { createRandom } from "./random.ts";
import { Serving } from "./serving.ts";
import { settle } from "./settle.ts";
import type { Stage } from "./stage.ts";
import { addUp, Tally } from "./tally.ts";
import type { Figures } from "./tally.ts";
import { createTaskPlan } from "./task-plan.ts";
import { makeWorld } from "./world.ts";

export type Part = "random" | "boundaries";

export interface CampaignOptions {
  readonly program: string;
  readonly cycles: number;
  readonly seed: number;
  readonly parts: readonly Part[];
  /** Of the boundaries: the kinds of tasks that are killed. Default: all whose events are known beforehand. */
  readonly kinds?: readonly KindName[];
  /** How many worlds at a time. */
  readonly side_by_side: number;
  readonly onProgress?: (line: string) => void;
}

/** One world that did not keep a promise. */
interface Failure {
  readonly part: Part;
  readonly seed: number;
  readonly cycle: number;
  readonly problems: readonly string[];
  /** Kept. */
  readonly folder: string;
  /** The words that do the same again. */
  readonly again: string;
}

export interface CampaignResult {
  readonly figures: Figures;
  readonly failures: readonly Failure[];
}

/** A world is checked after this many cycles: the time for a check grows with the world. */
const CYCLES_OF_A_WORLD = 50;

type Job = { readonly seed: number } & (
  | { readonly part: "random"; readonly cycles: number }
  | { readonly part: "boundaries"; readonly kind: KindName }
);

/** Never throws for what the service does: that is a failure of its world. */
export async function runCampaign(options: CampaignOptions): Promise<CampaignResult> {
  const jobs = jobsOf(options);
  const parts: Figures[] = [];
  const gaps: number[] = [];
  const failures: Failure[] = [];
  const lane = async (): Promise<void> => {
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
      const { figures, tally, failure } = await live(job, options);
      if (figures !== undefined) parts.push(figures);
      gaps.push(...tally.gaps);
      if (failure !== undefined) failures.push(failure);
      options.onProgress?.(
        `${nameOf(job)}: ${tally.cycles} cycles, ${failure === undefined ? "all checks passed" : failure.problems.join("\n  ")}`,
      );
    }
  };
  await Promise.all(Array.from({ length: options.side_by_side }, lane));
  return { figures: addUp(parts, gaps), failures };
}

function jobsOf({ cycles, seed, parts, kinds = WATCHED }: CampaignOptions): Job[] {
  const worlds = Math.ceil(cycles / CYCLES_OF_A_WORLD);
  const random = Array.from({ length: worlds }, (_, i) => ({
    part: "random" as const,
    seed: seed + i,
    cycles: Math.min(CYCLES_OF_A_WORLD, cycles - i * CYCLES_OF_A_WORLD),
  }));
  return [
    ...(parts.includes("boundaries") ? kinds.map((kind) => ({ part: "boundaries" as const, seed, kind })) : []),
    ...(parts.includes("random") ? random : []),
  ];
}

function nameOf(job: Job): string {
  return `${job.part}${job.part === "boundaries" ? ` of ${job.kind}` : ""}, seed ${job.seed}`;
}

/** Every fourth world has no model. */
function isDirect({ part, seed }: Job): boolean {
  return part === "random" && seed % 4 === 3;
}

// oxfmt-ignore
const SETTINGS = {
  AUTONOUS_WORKER_CONCURRENCY: "4",
  TASK_RETRY_BASE_MS:          "50",
  AUTONOUS_APPROVAL_TIMEOUT_SECONDS: "3600",
} as const;

interface Lived {
  readonly tally: Tally;
  readonly figures: Figures | undefined;
  readonly failure: Failure | undefined;
}

async function live(job: Job, { program }: CampaignOptions): Promise<Lived> {
  await using model = isDirect(job) ? undefined : await startModel();
  await using phones = model === undefined ? undefined : await startPhones();
  const settings = { ...SETTINGS, ...phones?.settings, AUTONOUS_MODEL: model?.setting ?? "direct" };
  const world = makeWorld({ program, settings });
  const serving = new Serving(world);
  const plan = createTaskPlan(world, model === undefined);
  model?.serve(world, plan);
  const tally = new Tally();
  const stage: Stage = { world, serving, plan, model, phones, random: createRandom(job.seed), tally };
  let figures: Figures | undefined;
  let problems: readonly string[];
  try {
    await serving.start();
    if (job.part === "boundaries") await runBoundaries(stage, job.kind);
    else for (let i = 0; i < job.cycles; i++) await runCycle(stage);
    await settle(stage);
    ({ figures, problems } = await judge(stage));
  } catch (error) {
    problems = [error instanceof Error ? (error.stack ?? error.message) : String(error)];
  } finally {
    await serving.end("SIGKILL");
  }
  if (problems.length === 0) {
    rmSync(world.path, { recursive: true, force: true });
    return { tally, figures, failure: undefined };
  }
  writeFileSync(
    join(world.path, "campaign.json"),
    JSON.stringify({ job, problems, tally, plan: plan.all, arrived: phones?.arrived }, null, 2),
  );
  const again = `npm run campaign:kill -- --part ${job.part} --seed ${job.seed}${job.part === "random" ? ` --cycles ${job.cycles}` : ""}`;
  const failure = { part: job.part, seed: job.seed, cycle: tally.cycles, problems, folder: world.path, again };
  return { tally, figures, failure };
}
