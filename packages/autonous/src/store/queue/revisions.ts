import { hash } from "node:crypto";
import type { Database, Queries } from "../sqlite/database.ts";
import { dueAt, findTask, headOf, TASK_COLUMNS } from "./find-task.ts";
import { isHeld, requireLease, restLane } from "./lanes.ts";
import { putRow } from "../record/put-outgoing.ts";
import type { Lease, Task } from "../store.ts";

/** Changes of a task by a later message or a finished download. Omitted fields are kept. */
interface Revision {
  readonly text?: string;
  readonly files?: string;
  readonly origin?: string;
  /** Earliest start; `now`: at once. */
  readonly run_at?: number | "now";
  /** The id of the message that becomes part of the task. It is accepted once, however often it is delivered. */
  readonly part?: string;
  /** A message to the user who sent the task, stored in the same transaction. */
  readonly notice?: string;
}

/** `known`: the message was accepted before. `begun`: the task has started or ended; nothing was changed. */
type RevisionOutcome = "revised" | "known" | "begun";

/** Changes to tasks that have not started, and the one that a worker makes at the start. */
export interface Revisions {
  revise(task_id: string, revision: Revision): Promise<RevisionOutcome>;
  /** Stores the outcome for the files of a running task: its text lists them from now on. */
  receive(lease: Lease, received: Required<Pick<Revision, "text" | "files">> & Pick<Revision, "notice">): Promise<void>;
  /** Tasks of a channel that have files and have not started, oldest first. */
  withFiles(source: string): Promise<readonly Task[]>;
}

const REVISE = `update inbox set text = ?, files = ?, origin = ?, run_at = ? where task_id = ?`;
const RECEIVE = "update inbox set text = ?, files = ? where task_id = ?";
const ADD_PART = "insert into inbox_parts (source, external_id, task_id) values (?, ?, ?)";
const WITH_FILES = `select ${TASK_COLUMNS} from inbox
  where state = 'queued' and source = ? and files is not null order by position`;
/** Whether a message was accepted, as a task or as part of one. */
export const KNOWN = `select task_id, run_id from inbox where source = ?1 and external_id = ?2
  union all select inbox.task_id, inbox.run_id from inbox_parts join inbox on inbox.task_id = inbox_parts.task_id
  where inbox_parts.source = ?1 and inbox_parts.external_id = ?2`;

export function createRevisions(database: Database, clock: () => number): Revisions {
  return {
    revise: (task_id, revision) =>
      database.transaction(`add to task "${task_id}"`, (queries) =>
        revise(queries, task_id, { revision, now: clock() }),
      ),
    receive: (lease, received) => {
      const doing = `record the files of task "${lease.task.task_id}"`;
      return database.transaction(doing, async (queries) => {
        await requireLease(queries, lease, doing);
        const { task } = lease;
        await queries.run(RECEIVE, [received.text, received.files, task.task_id]);
        await putNotice(queries, task, { notice: received.notice, now: clock() });
      });
    },
    withFiles: (source) => database.read("find tasks with files", (queries) => queries.all<Task>(WITH_FILES, [source])),
  };
}

interface RevisionRequest {
  readonly revision: Revision;
  readonly now: number;
}

async function revise(queries: Queries, task_id: string, { revision, now }: RevisionRequest): Promise<RevisionOutcome> {
  const task = await findTask(queries, task_id);
  if (task === undefined) return "begun";
  const { part } = revision;
  if (part !== undefined && (await queries.one(KNOWN, [task.source, part])) !== undefined) return "known";
  if (task.state !== "queued" || task.attempts > 0 || task.cancel_by !== null) return "begun";
  const { text, files, origin, run_at } = { ...task, ...revision };
  // A task without a scheduled time may start at once, whatever the clock says.
  const from = run_at === "now" ? task.created_at : run_at;
  await queries.run(REVISE, [text, files, origin, from, task_id]);
  if (part !== undefined) await queries.run(ADD_PART, [task.source, part, task_id]);
  await putNotice(queries, task, { notice: revision.notice, now });
  const head = await headOf(queries, task.lane);
  if (head?.task_id === task_id && !(await isHeld(queries, task.lane)))
    await restLane(queries, task.lane, dueAt(head, now));
  return "revised";
}

interface NoticeOptions {
  readonly notice: string | undefined;
  readonly now: number;
}

/** Each notice is sent once, even if a worker is lost after recording it. */
async function putNotice(queries: Queries, task: Task, { notice, now }: NoticeOptions): Promise<void> {
  if (notice === undefined) return;
  const content = { kind: "display", level: "warning", content: notice } as const;
  const dedupe = `files:${task.run_id}:${hash("sha256", notice, "hex")}`;
  await putRow(queries, task, { content, dedupe, now });
}
