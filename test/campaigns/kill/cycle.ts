import { setTimeout as pause } from "node:timers/promises";
import { KILLS } from "./kills.ts";
import { KINDS, kindOf } from "./kinds.ts";
import type { KindName } from "./kinds.ts";
import { answer, pendingApprovals, retriable, submitTasks, stoppable, tell } from "./people.ts";
import type { Way } from "./people.ts";
import { look } from "./record.ts";
import type { ApprovalRow } from "./record.ts";
import type { Stage } from "./stage.ts";
import { Broken, comes } from "./stage.ts";

const CHATS = Array.from({ length: 6 }, (_, i) => `c${i}`);
/** A command takes the longest. */
const WAYS: readonly Way[] = ["http", "http", "http", "button", "button", "button", "button", "command line"];
/** No tasks are added while this many are open: chats have to progress for their tasks to be killed midway. */
const MAX_OPEN = 24;

/** Some tasks are taken in, people do what they do, processes are killed at some instant, and it goes on. */
export async function runCycle(stage: Stage): Promise<void> {
  const { random, tally } = stage;
  planTasks(stage);
  await submitTasks(stage);
  await actAsPeople(stage);
  await untilSomeInstant(stage);
  const waiting = pendingApprovals(stage);
  const kind = random.name(KILLS);
  tally.kill(kind);
  await KILLS[kind].run(stage);
  expectStillWaiting(stage, waiting);
  await submitTasks(stage);
  if (random.percent(40)) await untilOneIsOver(stage);
  tally.cycles++;
}

function openTasks({ world }: Stage): number {
  return look(world, (record) => record.tasks(), []).filter(({ finished_at }) => finished_at === null).length;
}

/** Of a world without a model: those in which no model has to say anything. */
const FOR_NOBODY = Object.fromEntries(
  Object.entries(KINDS).filter(([name]) => kindOf(name as KindName).fate === undefined),
) as typeof KINDS;

function planTasks(stage: Stage): void {
  const { random, plan, model, phones } = stage;
  if (openTasks(stage) >= MAX_OPEN) return;
  for (let count = 1 + random.below(4); count > 0; count--)
    plan.add(random.name(model === undefined ? FOR_NOBODY : KINDS), random.pick([...CHATS, ...(phones?.chats ?? [])]));
}

async function actAsPeople(stage: Stage): Promise<void> {
  const { random } = stage;
  for (const approval of pendingApprovals(stage))
    if (random.percent(60)) await answer(stage, approval, random.pick(WAYS));
  for (const planned of stoppable(stage).slice(0, 1)) if (random.percent(50)) await tell(stage, "cancel", planned);
  for (const planned of retriable(stage).slice(0, 1)) if (random.percent(50)) await tell(stage, "retry", planned);
}

/** After some time, or after some more events. */
async function untilSomeInstant({ random, world }: Stage): Promise<void> {
  if (random.percent(50)) {
    await pause(random.below(400));
    return;
  }
  const position = (): number => look(world, (record) => record.position(), 0);
  const goal = position() + random.below(40);
  await comes(() => position() >= goal, 1500);
}

/** What waited for a person before a kill, and was not answered since, waits still. */
function expectStillWaiting(stage: Stage, before: readonly ApprovalRow[]): void {
  const now = new Map(look(stage.world, (record) => record.approvals(), []).map((row) => [row.approval_id, row.state]));
  for (const { approval_id, task_id } of before) {
    const state = now.get(approval_id) ?? "gone";
    const planned = stage.plan.byId(task_id);
    const isAnswered = stage.tally.answered.has(approval_id);
    if (state !== "pending" && !isAnswered && planned?.stopped_at === undefined)
      throw new Broken(
        `The approval ${approval_id} was pending before the kill and not answered, but it is ${state} after it`,
      );
  }
}

async function untilOneIsOver(stage: Stage): Promise<void> {
  const before = openTasks(stage);
  await comes(() => openTasks(stage) < before, 3000);
}
