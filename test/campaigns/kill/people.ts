/** What people do while processes die: they write, answer, stop and try again. */
import { kindOf } from "./kinds.ts";
import { look } from "./record.ts";
import type { ApprovalRow, TaskRow } from "./record.ts";
import type { Stage } from "./stage.ts";
import { Broken } from "./stage.ts";
import type { PlannedTask } from "./task-plan.ts";

/** Sends the requests that were not accepted yet, in order, until the service does not answer. A repeated one is accepted once. */
export async function submitTasks(stage: Stage): Promise<void> {
  saySpokenTasks(stage);
  for (const planned of stage.plan.waiting())
    if (!isSpoken(stage, planned) && !(await submitTask(stage, planned))) return;
}

function isSpoken({ phones }: Stage, { chat }: PlannedTask): boolean {
  return phones?.chats.includes(chat) === true;
}

/** What is said by Telegram is taken in whenever the service is there; its task is found by its text then. */
function saySpokenTasks(stage: Stage): void {
  const spoken = stage.plan.waiting().filter((planned) => isSpoken(stage, planned));
  if (spoken.length === 0) return;
  const known = new Map(look(stage.world, (record) => record.tasks(), []).map(({ text, task_id }) => [text, task_id]));
  for (const planned of spoken) {
    if (planned.isSaid === undefined) stage.phones?.say(planned.chat, planned.text);
    planned.isSaid = true;
    const task_id = known.get(planned.text);
    if (task_id !== undefined) planned.task_id = task_id;
  }
}

/** Whether it was taken in, as far as the sender knows. */
async function submitTask({ serving }: Stage, planned: PlannedTask): Promise<boolean> {
  const { task, chat, text, run_at } = planned;
  const answered = await serving.request("/api/tasks", { text, chat, id: task, run_at });
  if (answered === undefined || answered.status === 503) return false;
  if (answered.status !== 202)
    throw new Broken(`Submitting task ${task} returned ${answered.status}: ${JSON.stringify(answered.body)}`);
  planned.task_id = String(answered.body["task_id"]);
  return true;
}

/** By which way a person speaks. */
export type Way = "http" | "command line" | "button";

export function pendingApprovals({ world }: Stage): readonly ApprovalRow[] {
  return look(world, (record) => record.approvals(), []).filter(({ state }) => state === "pending");
}

const BUTTONS = { grant: "Allow once", deny: "Deny" } as const;

/** Answers what a task asks, as its kind has it. What was said already is not said otherwise, so a second answer does no harm. */
export async function answer(stage: Stage, { approval_id, task_id }: ApprovalRow, way: Way): Promise<boolean> {
  const planned = stage.plan.byId(task_id);
  if (planned === undefined) return false; // the campaign does not know yet which task it is
  const said = kindOf(planned.kind).answer;
  if (said === undefined)
    throw new Broken(`Task ${planned.task} (${planned.kind}) waits for approval without a request`);
  stage.tally.answered.add(approval_id);
  if (way === "button" && isSpoken(stage, planned))
    return stage.phones?.press(planned.chat, approval_id, BUTTONS[said]) === true;
  if (way === "command line") return (await stage.serving.command(["approvals", said, approval_id])).code === 0;
  return (await stage.serving.request(`/api/approvals/${approval_id}`, { answer: said, by: "ann" }))?.status === 200;
}

function tasksIn(stage: Stage, isMeant: (task: TaskRow, planned: PlannedTask) => boolean): PlannedTask[] {
  return look(stage.world, (record) => record.tasks(), []).flatMap((task) => {
    const planned = stage.plan.byId(task.task_id);
    return planned !== undefined && isMeant(task, planned) ? [planned] : [];
  });
}

/** Those that a person may want to stop. */
export function stoppable(stage: Stage): PlannedTask[] {
  return tasksIn(
    stage,
    ({ finished_at }, { kind, stopped_at }) =>
      finished_at === null && stopped_at === undefined && kindOf(kind).fate === "stop",
  );
}

/** Those that failed, or were given up after too many crashes. */
export function retriable(stage: Stage): PlannedTask[] {
  return tasksIn(stage, ({ state }) => state === "failed" || state === "dead_letter");
}

/** Stops a task, or has it tried again. */
export async function tell(stage: Stage, word: "cancel" | "retry", planned: PlannedTask): Promise<void> {
  const isTaken = stage.random.percent(60)
    ? await tellByCommand(stage, word, planned)
    : [200, 202].includes(
        (await stage.serving.request(`/api/tasks/${planned.task_id}/${word}`, { by: "ann" }))?.status ?? 0,
      );
  if (isTaken && word === "cancel") planned.stopped_at = Date.now();
  if (isTaken && word === "retry") planned.retries++;
}

/** A second process. 1: it is too late for that. */
async function tellByCommand({ serving }: Stage, word: string, planned: PlannedTask): Promise<boolean> {
  const { code, said } = await serving.command(["tasks", word, planned.task_id ?? ""]);
  if (code !== 0 && code !== 1)
    throw new Broken(`autonous tasks ${word} of ${planned.task} exited with ${code}: ${said}`);
  return code === 0;
}
