import { setTimeout as pause } from "node:timers/promises";
import { answer, pendingApprovals, retriable, submitTasks, tell } from "./people.ts";
import { look } from "./record.ts";
import type { OpenRecord } from "./record.ts";
import type { Stage } from "./stage.ts";
import { Broken, comes } from "./stage.ts";

/** Without anything new for so long, it is stuck. */
const STUCK_MS = 60_000;
const LOOK_MS = 20;

/** No more kills: every request is answered, retried and completed; then the service stops. */
export async function settle(stage: Stage): Promise<void> {
  const { world, serving } = stage;
  let seen = "";
  let since = Date.now();
  while (!(await isSettled(stage))) {
    const now = look(world, (record) => `${record.position()}`, "");
    if (now !== seen) since = Date.now();
    seen = now;
    if (Date.now() - since > STUCK_MS) throw new Broken(`Nothing happened for ${STUCK_MS} ms: ${openOnes(stage)}`);
    await pause(LOOK_MS);
    await submitTasks(stage);
    for (const approval of pendingApprovals(stage))
      await answer(stage, approval, stage.random.percent(50) ? "http" : "button");
    for (const planned of retriable(stage)) await tell(stage, "retry", planned);
  }
  await serving.end("SIGTERM");
}

async function isSettled(stage: Stage): Promise<boolean> {
  if (stage.plan.waiting().length > 0 || retriable(stage).length > 0 || pendingApprovals(stage).length > 0)
    return false;
  return await comes(() => look(stage.world, isQuiet, false), 500);
}

function isQuiet(record: OpenRecord): boolean {
  return (
    record.tasks().every(({ finished_at }) => finished_at !== null) &&
    record.all("select id from outbox where sent_at is null limit 1").length === 0
  );
}

function openOnes({ world, plan }: Stage): string {
  const open = look(world, (record) => record.tasks(), []).filter(({ finished_at }) => finished_at === null);
  return open
    .map(({ task_id, state, lane }) => `${plan.byId(task_id)?.task ?? task_id} of ${lane} is ${state}`)
    .join("; ");
}
