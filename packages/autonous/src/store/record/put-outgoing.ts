import { hash } from "node:crypto";
import type { RuntimeEvent } from "@autonous/runtime";
import type { AttachedFile } from "@autonous/runtime/internal";
import type { Queries } from "../sqlite/database.ts";
import { skillWords } from "./skill-words.ts";
import type { Outgoing, ShownMessage, Task } from "../store.ts";

const INSERT = `insert into outbox (task_id, channel, chat, kind, body, approval_id, dedupe, created_at)
  values (?, ?, ?, ?, ?, ?, ?, ?) on conflict (dedupe) do nothing`;
const ASKED_BY = "select task_id, source, lane from inbox where run_id = ?";

type Receiver = Pick<Task, "task_id" | "source" | "lane">;

interface OutgoingOptions {
  readonly content: Outgoing;
  /** Messages with the same key are sent once. */
  readonly dedupe: string;
  readonly now: number;
}

/** Queues a message to the sender of the task, in the transaction that causes it. */
export async function putRow(
  queries: Queries,
  receiver: Receiver,
  { content, dedupe, now }: OutgoingOptions,
): Promise<void> {
  const { task_id, source, lane } = receiver;
  const body = content.kind === "text" ? content.text : JSON.stringify(content);
  const approval_id = content.kind === "approval" ? content.approval_id : null;
  await queries.run(INSERT, [task_id, source, lane, content.kind, body, approval_id, dedupe, now]);
}

/** Sends the approval request to the sender of the run's task; a run without a task has no one to ask. */
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

/** Files that a call attached are queued when its end is recorded: an unfinished call sends nothing. */
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

/** The activation of a skill is shown like a displayed message. */
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
/**
 * About ten Telegram messages, which take as many seconds: without a limit, a task could delay its own answer for
 * hours.
 */
const MAX_WAITING = 40_000;
const DELAYED =
  "This task shows messages faster than they can be sent. Until the backlog is sent, further messages are only recorded in the audit log.";

/** Displayed messages are queued when they are recorded. A call that is repeated after a crash shows nothing twice. */
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
  if (characters > MAX_WAITING) {
    const content: ShownMessage = { kind: "display", level: "info", content: DELAYED };
    return await putRow(queries, receiver, { content, dedupe: `display:${run_id}:held_back`, now });
  }
  const digest = hash("sha256", JSON.stringify(shown), "hex");
  const dedupe = `display:${run_id}:${digest}:${tool_call_id}`;
  await putRow(queries, receiver, { content: shown, dedupe, now });
}
