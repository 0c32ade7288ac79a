import type { AttachedFile } from "@autonous/runtime/internal";
import { appendTaskEvent } from "../record/append-events.ts";
import type { Database, Queries } from "../sqlite/database.ts";
import { givenUpOf } from "./resend-task.ts";
import { putRow } from "../record/put-outgoing.ts";
import type { Outbox, Outgoing, OutboxRow, Task } from "../store.ts";
import { auditGivenUp, auditReply } from "../record/task-audit.ts";
import { isObject, parseKept } from "../sqlite/kept-json.ts";
import { findTask } from "./find-task.ts";

const WAITS = "sent_at is null and gave_up_at is null";
const CHANNELS = `select min(channel) as channel from outbox where ${WAITS} and channel > ?`;
/** The first row of every chat. One index lookup per chat, however many rows wait in it. */
const HEADS = `with recursive heads (id, chat, next_at) as (
    select * from (select id, chat, next_at from outbox where ${WAITS} and channel = ? order by chat, id limit 1)
    union all
    select outbox.id, outbox.chat, outbox.next_at from heads join outbox on outbox.id = (
      select id from outbox where ${WAITS} and channel = ? and chat > heads.chat order by chat, id limit 1))`;
const DUE_CHATS = `${HEADS} select chat from heads where next_at <= ? order by id limit ?`;
const NEXT_DUE = `${HEADS} select min(next_at) as next_at from heads`;
const OF_CHAT = `select outbox.id, outbox.task_id, run_id, channel, chat, kind, body, outbox.attempts, outbox.created_at
  from outbox join inbox using (task_id)
  where sent_at is null and gave_up_at is null and channel = ? and chat = ? order by outbox.id limit ?`;
const MARK_SENT = `update outbox set sent_at = ?, receipt = ? where id = ? and ${WAITS}
  returning task_id, channel, kind, body`;
const MARK_FAILED = `update outbox set attempts = attempts + 1, error = ?, next_at = ? where id = ? and ${WAITS}`;
const GIVE_UP = `update outbox set attempts = attempts + 1, error = ?, gave_up_at = ? where id = ? and ${WAITS}
  returning task_id, channel, kind, body`;
const RECEIPT = `select chat, receipt from outbox where approval_id = ? and sent_at is not null and receipt is not null
  order by id desc limit 1`;
const ASK_AGAIN = `update outbox set sent_at = null, receipt = null, attempts = 0, error = null, next_at = 0
  where approval_id = ? and kind = 'approval' and sent_at is not null`;

interface Reply {
  readonly body: string;
  /** Token of the lease under which it was written: one reply per lease. */
  readonly token: number;
  readonly now: number;
}

export async function putReply(queries: Queries, task: Task, { body, token, now }: Reply): Promise<void> {
  await putRow(queries, task, { content: { kind: "text", text: body }, dedupe: `${task.task_id}:${token}`, now });
  await auditReply(queries, task.task_id, now);
}

export function createOutbox(database: Database, clock: () => number): Outbox {
  return {
    pending: ({ limit, channel }) =>
      database.read("read unsent messages", (queries) => pending(queries, { limit, channel, now: clock() })),
    markSent: (id, receipt) =>
      database.transaction("record a sent message", (queries) =>
        markSent(queries, id, { receipt: receipt ?? null, now: clock() }),
      ),
    markFailed: (id, { error, next_at }) =>
      database.transaction("record a failed send", async (queries) => {
        await queries.run(MARK_FAILED, [error, next_at, id]);
      }),
    giveUp: (id, error) =>
      database.transaction("give up on a message", async (queries) => {
        const now = clock();
        const row = await queries.one<StoredContent>(GIVE_UP, [error, now, id]);
        if (row !== undefined) await auditGivenUp(queries, row.task_id, { ...row, error, now });
      }),
    givenUp: (of) => database.read("find undeliverable messages", (queries) => givenUpOf(queries, of)),
    nextDueAt: (channel) =>
      database.read("read when the next message is due", async (queries) => {
        const due: number[] = [];
        for (const each of channel === undefined ? await channels(queries) : [channel]) {
          const row = await queries.one<{ readonly next_at: number | null }>(NEXT_DUE, [each, each]);
          if (typeof row?.next_at === "number") due.push(row.next_at);
        }
        return due.length === 0 ? null : Math.min(...due);
      }),
    receiptOf: (approval_id) =>
      database.read("find the message of an approval request", async (queries) => {
        const row = await queries.one<{ readonly chat: string; readonly receipt: string }>(RECEIPT, [approval_id]);
        return row === undefined ? undefined : { chat: row.chat, receipt: row.receipt };
      }),
    askAgain: (approval_id) =>
      database.transaction("resend an approval request", async (queries) => {
        await queries.run(ASK_AGAIN, [approval_id]);
      }),
  };
}

interface OutboxQuery {
  readonly limit: number;
  readonly channel: string | undefined;
  readonly now: number;
}

async function pending(queries: Queries, { limit, channel, now }: OutboxQuery): Promise<readonly OutboxRow[]> {
  const lists: (readonly OutboxRow[])[] = [];
  for (const each of channel === undefined ? await channels(queries) : [channel]) {
    const chats = await queries.all<{ readonly chat: string }>(DUE_CHATS, [each, each, now, limit]);
    const share = Math.ceil(limit / Math.max(chats.length, 1));
    for (const { chat } of chats) {
      const rows = await queries.all<StoredRow>(OF_CHAT, [each, chat, share]);
      lists.push(rows.map(outboxRow));
    }
  }
  return interleave(lists).slice(0, limit);
}

/** The first row of each list in order of arrival, then the second of each, and so on. */
function interleave(lists: readonly (readonly OutboxRow[])[]): readonly OutboxRow[] {
  const turns: OutboxRow[][] = [];
  for (const list of lists) for (const [turn, row] of list.entries()) (turns[turn] ??= []).push(row);
  return turns.flatMap((rows) => rows.toSorted((one, other) => one.id - other.id));
}

async function channels(queries: Queries): Promise<readonly string[]> {
  const found: string[] = [];
  for (;;) {
    const row = await queries.one<{ readonly channel: string | null }>(CHANNELS, [found.at(-1) ?? ""]);
    if (typeof row?.channel !== "string") return found;
    found.push(row.channel);
  }
}

interface StoredContent {
  readonly task_id: string;
  readonly channel: string;
  readonly kind: Outgoing["kind"];
  readonly body: string;
}

type StoredRow = Omit<OutboxRow, "content"> & Pick<StoredContent, "kind" | "body">;

function outboxRow({ kind, body, ...row }: StoredRow): OutboxRow {
  return { ...row, content: contentOf(kind, body) };
}

function contentOf(kind: Outgoing["kind"], body: string): Outgoing {
  if (kind === "text") return { kind, text: body };
  return parseKept(body, isOutgoing) ?? { kind: "text", text: DAMAGED[kind] };
}

/** Sent instead of a damaged entry, so that the chat continues. */
const DAMAGED = {
  file: "A file of this task cannot be sent: its entry in the store is damaged.",
  approval:
    'A question of this task cannot be shown: its entry in the store is damaged. Answer it with "autonous approvals list".',
  display: "A message of this task cannot be shown: its entry in the store is damaged.",
} as const;

function isOutgoing(value: unknown): value is Exclude<Outgoing, { readonly kind: "text" }> {
  if (!isObject(value)) return false;
  const fields =
    typeof value["kind"] === "string" && Object.hasOwn(FIELDS, value["kind"]) ? FIELDS[value["kind"]] : undefined;
  return fields?.every((name) => typeof value[name] === "string") ?? false;
}

/** Required fields per kind. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  approval: ["approval_id"],
  file: ["artifact", "name", "sha256"],
  display: ["content", "level"],
};

interface Sent {
  readonly receipt: string | null;
  readonly now: number;
}

async function markSent(queries: Queries, id: number, { receipt, now }: Sent): Promise<void> {
  const sent = await queries.one<StoredContent>(MARK_SENT, [now, receipt, id]);
  if (sent === undefined) return; // already recorded
  const content = contentOf(sent.kind, sent.body);
  if (content.kind === "approval" || content.kind === "display") return; // already recorded as events
  const task = await findTask(queries, sent.task_id);
  if (task === undefined) throw new Error(`Reply ${id} belongs to task "${sent.task_id}", which does not exist`);
  const said = content.kind === "text" ? { text: content.text } : { file: fileFacts(content) };
  await appendTaskEvent(queries, task, { type: "reply.sent", payload: { channel: sent.channel, ...said }, now });
}

function fileFacts({ artifact, name, bytes, sha256 }: AttachedFile): Omit<AttachedFile, "media_type" | "caption"> {
  return { artifact, name, bytes, sha256 };
}
