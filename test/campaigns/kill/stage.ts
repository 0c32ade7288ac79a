import { setTimeout as pause } from "node:timers/promises";
import type { Model } from "./model.ts";
import type { Phones } from "./phones.ts";
import type { Random } from "./random.ts";
import type { Serving } from "./serving.ts";
import type { Tally } from "./tally.ts";
import type { TaskPlan } from "./task-plan.ts";
import type { World } from "./world.ts";

/** Everything that a part of the campaign acts on. */
export interface Stage {
  readonly world: World;
  readonly serving: Serving;
  readonly plan: TaskPlan;
  /** Undefined: the tasks are commands, and no model is asked. */
  readonly model: Model | undefined;
  /** Undefined: everybody writes by HTTP. */
  readonly phones: Phones | undefined;
  readonly random: Random;
  readonly tally: Tally;
}

/** Something is not as it was promised. */
export class Broken extends Error {}

const LOOK_MS = 4;

/** Waits for a condition; false when it did not come in time. */
export async function comes(condition: () => boolean | Promise<boolean>, withinMs: number): Promise<boolean> {
  const end = Date.now() + withinMs;
  while (!(await condition())) {
    if (Date.now() > end) return false;
    await pause(LOOK_MS);
  }
  return true;
}
