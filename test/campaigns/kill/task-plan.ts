import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { KindName } from "./kinds.ts";
import { commandsOf, kindOf } from "./kinds.ts";
import type { World } from "./world.ts";

/** A task that the campaign wants done. */
export interface PlannedTask {
  /** Stands in its text, and is the id of its message. */
  readonly task: string;
  readonly chat: string;
  readonly kind: KindName;
  readonly text: string;
  /** Not before this time. */
  readonly run_at?: string;
  /** By Telegram: it was said. Telegram keeps it until the service has it. */
  isSaid?: true;
  /** Once it was taken in. */
  task_id?: string;
  /** When a person was told that it is stopped, or will be. */
  stopped_at?: number;
  /** How often a person had it tried again. */
  retries: number;
}

export interface TaskPlan {
  readonly all: readonly PlannedTask[];
  add(kind: KindName, chat: string): PlannedTask;
  byTask(task: string): PlannedTask | undefined;
  byId(task_id: string): PlannedTask | undefined;
  /** Those that were not taken in yet, in the order in which they are to be. */
  waiting(): PlannedTask[];
}

/** A kill or two may fall into it. */
const DELAY_MS = 1500;

/** `isDirect`: without a model, so the text contains the calls themselves. */
export function createTaskPlan(world: World, isDirect: boolean): TaskPlan {
  const all: PlannedTask[] = [];
  return {
    all,
    add(kind, chat) {
      const task = `w${all.length + 1}`;
      const text = isDirect ? commandsOf({ task, chat, kind }) : `Do ${task}`;
      const later = kindOf(kind).delayed === true ? { run_at: new Date(Date.now() + DELAY_MS).toISOString() } : {};
      const planned: PlannedTask = { task, chat, kind, text, retries: 0, ...later };
      if (kindOf(kind).rounds.flat().includes("remove")) writeFileSync(join(world.root, "doomed", task), `${task}\n`);
      all.push(planned);
      return planned;
    },
    byTask: (task) => all.find((planned) => planned.task === task),
    byId: (task_id) => all.find((planned) => planned.task_id === task_id),
    waiting: () => all.filter(({ task_id }) => task_id === undefined),
  };
}
