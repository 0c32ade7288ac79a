import { makeVisible } from "@autonous/runtime/internal";
import type { Store, Task } from "../../../store/store.ts";
import type { TaskState } from "../../../store/queue/task-states.ts";
import { laneOf } from "../address.ts";
import type { Written } from "../incoming/read-update.ts";
import { TakenUpdates } from "./taken-updates.ts";
import { SHORT_ID } from "./task-line.ts";

/** States in which a worker has the task, or it waits for a person. */
const RUNNING: readonly TaskState[] = ["in_progress", "model_round", "tool_round", "reply_sent", "waiting_approval"];
export const MAX_COUNTED = 100;
const NAME_LENGTH = 60;

export async function runningIn(store: Store, lane: string): Promise<Task | undefined> {
  for (const state of RUNNING) {
    const [task] = (await store.tasks.list({ lane, state, limit: 1 })).tasks;
    if (task !== undefined) return task;
  }
  return undefined;
}

/** Newest first. */
export async function queuedIn(store: Store, lane: string): Promise<readonly Task[]> {
  return (await store.tasks.list({ lane, state: "queued", limit: MAX_COUNTED })).tasks;
}

interface Choosing {
  readonly written: Written;
  /** What stands behind the command. */
  readonly rest: string;
  readonly store: Store;
}

const CHOSEN = "telegram:chosen";

/**
 * The task that a command is about, of this chat only. Which one that is without a name is put on record first: should
 * the command be delivered again after a crash, it must not reach the task behind.
 */
export async function chosenTask(
  { written, rest, store }: Choosing,
  byDefault: (lane: string) => Promise<Task | undefined>,
): Promise<Task | undefined> {
  const lane = laneOf(written);
  if (rest !== "") return await namedTask(rest, lane, store);
  const taken = new TakenUpdates(store, CHOSEN);
  const before = await taken.find(written.update_id);
  if (before !== undefined) return await namedTask(before, lane, store);
  const task = await byDefault(lane);
  if (task !== undefined) await taken.keep(written.update_id, task.task_id);
  return task;
}

/** By its full id, or by the end of it as `/tasks` shows it. */
async function namedTask(name: string, lane: string, store: Store): Promise<Task | undefined> {
  const whole = (await store.tasks.get(name))?.task;
  if (whole !== undefined) return whole.lane === lane ? whole : undefined;
  if (name.length < SHORT_ID) return undefined;
  const { tasks: last } = await store.tasks.list({ lane, limit: MAX_COUNTED });
  const found = last.filter(({ task_id }) => task_id.toLowerCase().endsWith(name.toLowerCase()));
  return found.length === 1 ? found[0] : undefined;
}

export function noSuchTask(name: string): string {
  return `No task "${makeVisible(name.slice(0, NAME_LENGTH).toWellFormed())}" in this chat. /tasks lists the tasks.`;
}
