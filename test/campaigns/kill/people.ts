/** What people do while processes die: they write, answer, stop and try again. */
import { kindOf } from "./kinds.ts";
import { look } from "./record.ts";
import type { ApprovalRow, TaskRow } from "./record.ts";
import type { Stage } from "./stage.ts";
import { Broken } from "./stage.ts";
import type { Wish } from "./wishes.ts";

/** Sends the requests that were not accepted yet, in order, until the service does not answer. A repeated one is accepted once. */
export async function sendWishes(stage: Stage): Promise<void> {
  sayWishes(stage);
  for (const wish of stage.wishes.waiting()) if (!isSpoken(stage, wish) && !(await sendWish(stage, wish))) return;
}

function isSpoken({ phones }: Stage, { chat }: Wish): boolean {
  return phones?.chats.includes(chat) === true;
}

/** What is said by Telegram is taken in whenever the service is there; its task is found by its text then. */
function sayWishes(stage: Stage): void {
  const spoken = stage.wishes.waiting().filter((wish) => isSpoken(stage, wish));
  if (spoken.length === 0) return;
  const known = new Map(look(stage.world, (record) => record.tasks(), []).map(({ text, task_id }) => [text, task_id]));
  for (const wish of spoken) {
    if (wish.isSaid === undefined) stage.phones?.say(wish.chat, wish.text);
    wish.isSaid = true;
    const task_id = known.get(wish.text);
    if (task_id !== undefined) wish.task_id = task_id;
  }
}

/** Whether it was taken in, as far as the sender knows. */
async function sendWish({ serving }: Stage, wish: Wish): Promise<boolean> {
  const { task, chat, text, run_at } = wish;
  const answered = await serving.request("/api/tasks", { text, chat, id: task, run_at });
  if (answered === undefined || answered.status === 503) return false;
  if (answered.status !== 202)
    throw new Broken(`Submitting task ${task} returned ${answered.status}: ${JSON.stringify(answered.body)}`);
  wish.task_id = String(answered.body["task_id"]);
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
  const wish = stage.wishes.byId(task_id);
  if (wish === undefined) return false; // the campaign does not know yet which task it is
  const said = kindOf(wish.kind).answer;
  if (said === undefined) throw new Broken(`Task ${wish.task} (${wish.kind}) waits for approval without a request`);
  stage.tally.answered.add(approval_id);
  if (way === "button" && isSpoken(stage, wish))
    return stage.phones?.press(wish.chat, approval_id, BUTTONS[said]) === true;
  if (way === "command line") return (await stage.serving.command(["approvals", said, approval_id])).code === 0;
  return (await stage.serving.request(`/api/approvals/${approval_id}`, { answer: said, by: "ann" }))?.status === 200;
}

function tasksIn(stage: Stage, isMeant: (task: TaskRow, wish: Wish) => boolean): Wish[] {
  return look(stage.world, (record) => record.tasks(), []).flatMap((task) => {
    const wish = stage.wishes.byId(task.task_id);
    return wish !== undefined && isMeant(task, wish) ? [wish] : [];
  });
}

/** Those that a person may want to stop. */
export function stoppable(stage: Stage): Wish[] {
  return tasksIn(
    stage,
    ({ finished_at }, { kind, stopped_at }) =>
      finished_at === null && stopped_at === undefined && kindOf(kind).fate === "stop",
  );
}

/** Those that failed, or were given up after too many crashes. */
export function retriable(stage: Stage): Wish[] {
  return tasksIn(stage, ({ state }) => state === "failed" || state === "dead_letter");
}

/** Stops a task, or has it tried again. */
export async function tell(stage: Stage, word: "cancel" | "retry", wish: Wish): Promise<void> {
  const isTaken = stage.random.percent(60)
    ? await tellByCommand(stage, word, wish)
    : [200, 202].includes(
        (await stage.serving.request(`/api/tasks/${wish.task_id}/${word}`, { by: "ann" }))?.status ?? 0,
      );
  if (isTaken && word === "cancel") wish.stopped_at = Date.now();
  if (isTaken && word === "retry") wish.retries++;
}

/** A second process. 1: it is too late for that. */
async function tellByCommand({ serving }: Stage, word: string, wish: Wish): Promise<boolean> {
  const { code, said } = await serving.command(["tasks", word, wish.task_id ?? ""]);
  if (code !== 0 && code !== 1) throw new Broken(`autonous tasks ${word} of ${wish.task} exited with ${code}: ${said}`);
  return code === 0;
}
