import { KINDS } from "./kinds.ts";
import type { KindName } from "./kinds.ts";
import { answer, pendingApprovals, submitTasks } from "./people.ts";
import { look, openRecord } from "./record.ts";
import type { Stage } from "./stage.ts";
import { Broken } from "./stage.ts";
import { strike } from "./strike.ts";
import type { PlannedTask } from "./task-plan.ts";

/** The kinds that a person does not have to stop or to try again: what is recorded of them is known beforehand. */
export const WATCHED: readonly KindName[] = ["mixed", "writes", "granted", "denied", "removed"];
const VICTIMS = [["worker"], ["supervisor"], ["supervisor", "worker"]] as const;
const WAIT_MS = 60_000;

/** Tasks of a kind are killed, one after each event that is recorded of it. */
export async function runBoundaries(stage: Stage, kind: KindName): Promise<void> {
  const events = await runOne(stage, kind, undefined);
  for (let boundary = 1; boundary <= events; boundary++) {
    await runOne(stage, kind, boundary);
    stage.tally.cycles++;
  }
}

/** Runs one task, killed at the given boundary; returns the number of its events. */
async function runOne(stage: Stage, kind: KindName, boundary: number | undefined): Promise<number> {
  const { plan, tally, serving, world } = stage;
  const planned = plan.add(kind, `b${plan.all.length}`);
  await submitTasks(stage);
  if (boundary !== undefined) {
    if (await reaches(stage, planned, boundary)) {
      const victims = VICTIMS[plan.all.length % VICTIMS.length] ?? VICTIMS[0];
      tally.kill(`${victims.join(" and ")} after an event`);
      await strike(stage, victims);
      if (serving.supervisor === undefined) await serving.start();
    } else throw new Broken(`${kind}: event ${boundary} did not occur`);
  }
  await untilOver(stage, planned);
  return look(world, (record) => record.countOf(planned.task_id ?? ""), 0);
}

/** Looks as often as it can, for as long as the events keep coming; answers what the task asks. */
async function reaches(stage: Stage, planned: PlannedTask, boundary: number): Promise<boolean> {
  using record = openRecord(stage.world);
  const end = Date.now() + WAIT_MS;
  let known = 0;
  while (Date.now() < end) {
    const count = record?.countOf(planned.task_id ?? "") ?? 0;
    if (count >= boundary) return true;
    if (count === known) await answerAll(stage, planned);
    known = count;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return false;
}

async function answerAll(stage: Stage, { task_id }: PlannedTask): Promise<void> {
  for (const approval of pendingApprovals(stage))
    if (approval.task_id === task_id && !stage.tally.answered.has(approval.approval_id))
      await answer(stage, approval, "http");
}

async function untilOver(stage: Stage, planned: PlannedTask): Promise<void> {
  const end = Date.now() + WAIT_MS;
  for (;;) {
    const isOver = look(stage.world, (record) => record.tasks(), []).some(
      ({ task_id, finished_at }) => task_id === planned.task_id && finished_at !== null,
    );
    if (isOver) return;
    if (Date.now() > end)
      throw new Broken(`Task ${planned.task} (${KINDS[planned.kind].rounds.length} rounds) did not finish`);
    for (const approval of pendingApprovals(stage)) await answer(stage, approval, "http");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
