import type { Database, Queries } from "./database.ts";
import type { AuditRow, Task, TaskPage, Tasks } from "./store.ts";
import type { TaskState } from "./task-states.ts";

const COLUMNS = `task_id, run_id, trace_id, source, external_id, lane, "user", text, state, attempts, crashes, error,
  run_at, created_at, started_at, finished_at`;

const BY_ID = `select ${COLUMNS} from inbox where task_id = ?`;
const HEAD = `select ${COLUMNS} from inbox where lane = ? and finished_at is null order by position limit 1`;
const NEWEST = `select position, ${COLUMNS} from inbox where position < ? order by position desc limit ?`;
const NEWEST_IN_STATE = `select position, ${COLUMNS} from inbox where state = ? and position < ?
  order by position desc limit ?`;
const AUDIT = "select phase, message, created_at from task_audit where task_id = ? order by id";
const REPLY = "select body, sent_at from outbox where task_id = ? order by id desc limit 1";

export function findTask(queries: Queries, task_id: string): Promise<Task | undefined> {
  return queries.one<Task>(BY_ID, [task_id]);
}

/** The first task of a lane that is not over: the only one of the lane that may run. */
export function headOf(queries: Queries, lane: string): Promise<Task | undefined> {
  return queries.one<Task>(HEAD, [lane]);
}

export function createTasks(database: Database): Tasks {
  return {
    list: (options) => database.read("list tasks", (queries) => listTasks(queries, options)),
    get: (task_id) =>
      database.read(`read task "${task_id}"`, async (queries) => {
        const task = await findTask(queries, task_id);
        if (task === undefined) return undefined;
        const audit = await queries.all<AuditRow>(AUDIT, [task_id]);
        const reply = await queries.one<{ readonly body: string; readonly sent_at: number | null }>(REPLY, [task_id]);
        return { task, audit, reply: reply?.body ?? null, reply_sent_at: reply?.sent_at ?? null };
      }),
  };
}

interface ListOptions {
  readonly state?: TaskState;
  readonly limit: number;
  readonly after?: number;
}

async function listTasks(queries: Queries, options: ListOptions): Promise<TaskPage> {
  const { state, limit, after = Number.MAX_SAFE_INTEGER } = options;
  const rows =
    state === undefined
      ? await queries.all<TaskRow>(NEWEST, [after, limit + 1])
      : await queries.all<TaskRow>(NEWEST_IN_STATE, [state, after, limit + 1]);
  const page = rows.slice(0, limit);
  return { tasks: page.map(withoutPosition), next: rows.length > limit ? (page.at(-1)?.position ?? null) : null };
}

type TaskRow = Task & { readonly position: number };

function withoutPosition(row: TaskRow): Task {
  const { position: _, ...task } = row;
  return task;
}
