import { hash } from "node:crypto";
import type { AttachedFile, RuntimeEvent } from "@autonous/runtime";
import type { Queries } from "../sqlite/database.ts";
import { skillWords } from "./skill-words.ts";
import type { Outgoing, ShownMessage, Task } from "../store.ts";

const INSERT = `insert into outbox (task_id, channel, chat, kind, body, approval_id, dedupe, created_at)
  values (?, ?, ?, ?, ?, ?, ?, ?) on conflict (dedupe) do nothing`;
const ASKED_BY = "select task_id, source, lane from inbox where run_id = ?";

type Receiver = Pick<Task, "task_id" | "source" | "lane">;

interface Putting {
  readonly content: Outgoing;
  /** What has the same is the same, and is sent once. */
  readonly dedupe: string;
  readonly now: number;
}

/** For whoever asked for the task, in the commit of what it comes from. */
export async function putRow(queries: Queries, receiver: Receiver, { content, dedupe, now }: Putting): Promise<void> {
  const { task_id, source, lane } = receiver;
  const body = content.kind === "text" ? content.text : JSON.stringify(content);
  const approval_id = content.kind === "approval" ? content.approval_id : null;
  await queries.run(INSERT, [task_id, source, lane, content.kind, body, approval_id, dedupe, now]);
}

/** Puts the question to whoever asked for the task of this run; a run without a task has nobody to be asked so. */
export async function putQuestion(
  queries: Queries,
  { run_id, approval_id }: { readonly run_id: string; readonly approval_id: string },
  now: number,
): Promise<void> {
  const receiver = await queries.one<Receiver>(ASKED_BY, [run_id]);
  if (receiver === undefined) return;
  const content: Outgoing = { kind: "approval", approval_id };
  await putRow(queries, receiver, { content, dedupe: `approval:${approval_id}`, now });
}

/** Files that a call attached go out with the record of its end: a call that is not on record as done sends nothing. */
export async function putAttachments(queries: Queries, { type, run_id, payload, ts }: RuntimeEvent): Promise<void> {
  const files = payload["attachments"];
  if (type !== "tool_call.completed" || files === undefined) return;
  const receiver = await queries.one<Receiver>(ASKED_BY, [run_id]);
  if (receiver === undefined) return;
  for (const [index, file] of (files as readonly AttachedFile[]).entries()) {
    const dedupe = `file:${run_id}:${index}:${String(payload["tool_call_id"])}`;
    await putRow(queries, receiver, { content: { ...file, kind: "file" }, dedupe, now: Date.parse(ts) });
  }
}

/** That a skill restricts a task is told like what a call shows. */
function shownPayload({ type, payload }: RuntimeEvent): RuntimeEvent["payload"] | undefined {
  if (type === "display") return payload;
  if (type === "todo") return { ...payload, level: "progress", title: "Steps" };
  if (type !== "skill.activated") return undefined;
  const content = `${String(payload["skill"])}: ${skillWords(payload)}`;
  return { tool_call_id: payload["tool_call_id"], level: "info", title: "Skill", content };
}

const WAITING = `select coalesce(sum(length(body)), 0) as characters from outbox
  where task_id = ? and kind = 'display' and sent_at is null and gave_up_at is null`;
const NONE = { characters: 0 };
/** Some ten messages of Telegram's, which take as many seconds: a task that shows more would hold up its own answer for hours. */
const MOST_WAITING = 40_000;
const HELD_BACK =
  "This task shows more than can be sent in time. What it shows while so much is waiting is in its record, and not sent.";

/** What a call shows goes out with its record. A call that is made again after a crash shows nothing twice. */
export async function putDisplay(queries: Queries, event: RuntimeEvent): Promise<void> {
  const { run_id, ts } = event;
  const payload = shownPayload(event);
  if (payload === undefined || typeof payload["content"] !== "string") return;
  const receiver = await queries.one<Receiver>(ASKED_BY, [run_id]);
  if (receiver === undefined) return;
  const { tool_call_id, content, level, title, evidence } = payload as unknown as {
    readonly tool_call_id: string;
  } & ShownMessage;
  const shown: ShownMessage = {
    kind: "display",
    content,
    level,
    ...(title === undefined ? {} : { title }),
    ...(evidence === undefined ? {} : { evidence }),
  };
  const now = Date.parse(ts);
  const { characters } = (await queries.one<{ readonly characters: number }>(WAITING, [receiver.task_id])) ?? NONE;
  if (characters > MOST_WAITING) {
    const content: ShownMessage = { kind: "display", level: "info", content: HELD_BACK };
    return await putRow(queries, receiver, { content, dedupe: `display:${run_id}:held_back`, now });
  }
  const digest = hash("sha256", JSON.stringify(shown), "hex");
  const dedupe = `display:${run_id}:${digest}:${tool_call_id}`;
  await putRow(queries, receiver, { content: shown, dedupe, now });
}
