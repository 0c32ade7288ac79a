import type { Database, Queries } from "../sqlite/database.ts";
import { findTask, TASK_COLUMNS } from "./find-task.ts";
import { OF_LANE } from "./lane-chain.ts";
import { resendTask } from "./resend-task.ts";
import { cancelTask, dropTask, retryTask } from "./stop-task.ts";
import type { AuditRow, QueueCounts, Task, TaskDetails, TaskFilter, TaskPage, Tasks } from "../store.ts";
import { isOver, TASK_STATE_NAMES } from "./task-states.ts";

const AUDIT = "select phase, message, created_at from task_audit where task_id = ? order by id";

export function createTasks(database: Database, clock: () => number): Tasks {
  return {
    list: (options) => database.read("list tasks", (queries) => listTasks(queries, options)),
    get: (task_id) =>
      database.read(`read task "${task_id}"`, async (queries) => {
        const task = await findTask(queries, task_id);
        if (task === undefined) return undefined;
        const audit = await queries.all<AuditRow>(AUDIT, [task_id]);
        return { task, audit, ...(await outgoingOf(queries, task_id)) };
      }),
    counts: () => database.read("count tasks", (queries) => countAll(queries, clock())),
    cancel: (task_id, by) =>
      database.transaction(`cancel task "${task_id}"`, (queries) => cancelTask(queries, { task_id, by, now: clock() })),
    retry: (task_id, by) =>
      database.transaction(`requeue task "${task_id}"`, (queries) => retryTask(queries, { task_id, by, now: clock() })),
    resend: (task_id, by) =>
      database.transaction(`resend the answer of task "${task_id}"`, (queries) =>
        resendTask(queries, { task_id, by, now: clock() }),
      ),
    drop: (task_id, by) =>
      database.transaction(`drop task "${task_id}"`, (queries) => dropTask(queries, { task_id, by, now: clock() })),
  };
}

const NEWEST = `select position, ${TASK_COLUMNS} from inbox where position < ?1`;
const PAGE_ORDER = "order by position desc limit ?2";
const NEWEST_OF_LANE = `${OF_LANE} select inbox.position, ${TASK_COLUMNS} from of_lane cross join inbox
  where inbox.position = of_lane.position and inbox.position < ?1`;

// oxfmt-ignore
const LISTS = {
  all:     `${NEWEST} ${PAGE_ORDER}`,
  state:   `${NEWEST} and state = ?3 ${PAGE_ORDER}`,
  lane:    `${NEWEST_OF_LANE} limit ?2`,
  of_lane: `${NEWEST_OF_LANE} and state = ?4 limit ?2`,
  // Tasks that have not ended have a separate index. The plus keeps the planner from using the one by state.
  open_of_lane: `${NEWEST} and lane = ?3 and +state = ?4 and finished_at is null ${PAGE_ORDER}`,
};

function listFor({ state, lane }: Pick<TaskFilter, "state" | "lane">): keyof typeof LISTS {
  if (lane === undefined) return state === undefined ? "all" : "state";
  if (state === undefined) return "lane";
  return isOver(state) ? "of_lane" : "open_of_lane";
}

async function listTasks(queries: Queries, filter: TaskFilter): Promise<TaskPage> {
  const { state, lane, limit, after } = filter;
  const sql = LISTS[listFor(filter)];
  const wanted = [lane, state].filter((value) => value !== undefined);
  const rows = await queries.all<TaskRow>(sql, [after ?? Number.MAX_SAFE_INTEGER, limit + 1, ...wanted]);
  const page = rows.slice(0, limit);
  return { tasks: page.map(withoutPosition), next: rows.length > limit ? (page.at(-1)?.position ?? null) : null };
}

type TaskRow = Task & { readonly position: number };

function withoutPosition(row: TaskRow): Task {
  const { position: _, ...task } = row;
  return task;
}

const COUNTED_STATES = TASK_STATE_NAMES.filter((state) => !isOver(state) || state === "dead_letter");
const BY_STATE = `select state, count(*) as count from inbox
  where state in (${COUNTED_STATES.map((state) => `'${state}'`).join(", ")}) group by state`;
/** In order of arrival, so that it does not scan all waiting tasks. */
const OLDEST_QUEUED = "select run_at as at from inbox where state = 'queued' and run_at <= ? order by position limit 1";
const UNSENT =
  "select count(*) as count, min(created_at) as at from outbox where sent_at is null and gave_up_at is null";
const PENDING_APPROVALS = "select count(*) as count from approvals where state = 'pending'";

interface CountRow {
  readonly count: number;
  readonly at: number | null;
}

async function countAll(queries: Queries, now: number): Promise<QueueCounts> {
  const states = await queries.all<{ readonly state: Task["state"]; readonly count: number }>(BY_STATE);
  const oldest = await queries.one<Pick<CountRow, "at">>(OLDEST_QUEUED, [now]);
  const unsent = await queries.one<CountRow>(UNSENT);
  const approvals = await queries.one<Pick<CountRow, "count">>(PENDING_APPROVALS);
  return {
    by_state: Object.fromEntries(states.map(({ state, count }) => [state, count])),
    oldest_queued_at: oldest?.at ?? null,
    unsent: unsent?.count ?? 0,
    oldest_unsent_at: unsent?.at ?? null,
    pending_approvals: approvals?.count ?? 0,
  };
}

const REPLY = "select body, sent_at from outbox where task_id = ? and kind = 'text' order by id desc limit 1";
const UNSENT_OF = `select kind, channel, attempts, error, iif(gave_up_at is null, next_at, null) as next_at
  from outbox where task_id = ? and sent_at is null order by id`;

/** The reply and the unsent messages of a task. */
async function outgoingOf(
  queries: Queries,
  task_id: string,
): Promise<Pick<TaskDetails, "reply" | "reply_sent_at" | "unsent">> {
  const reply = await queries.one<{ readonly body: string; readonly sent_at: number | null }>(REPLY, [task_id]);
  const unsent = await queries.all<TaskDetails["unsent"][number]>(UNSENT_OF, [task_id]);
  return { reply: reply?.body ?? null, reply_sent_at: reply?.sent_at ?? null, unsent };
}
