import type { Database, Queries } from "./database.ts";
import type { History, HistoryRow, Task } from "./store.ts";

const INSERT = "insert into history (lane, task_id, role, text, created_at) values (?, ?, ?, ?, ?)";
/** Every task that is over has said something, unless it is forgotten, and then so are those before it. */
const BEFORE = `with recursive earlier (task_id, position, previous, count) as (
  select task_id, position, previous, 0 from inbox where task_id = ?1
  union all
  select inbox.task_id, inbox.position, inbox.previous, count + 1 from earlier cross join inbox
  where inbox.position = earlier.previous and inbox.forgotten_at is null and count < ?2)
  select history.task_id, role, text, created_at from earlier cross join history
  where history.task_id = earlier.task_id and earlier.count > 0
  order by earlier.count, history.id desc limit ?2`;

/** What was said in a task that is over: question and answer together, so that they stand side by side. */
export async function rememberExchange(
  queries: Queries,
  { lane, task_id, text, created_at }: Task,
  answer: { readonly reply: string | undefined; readonly now: number },
): Promise<void> {
  await queries.run(INSERT, [lane, task_id, "user", text, created_at]);
  if (answer.reply !== undefined) await queries.run(INSERT, [lane, task_id, "assistant", answer.reply, answer.now]);
}

export function createHistory(database: Database): History {
  return {
    before: (task_id, limit) =>
      database.read(`read what was said before task "${task_id}"`, async (queries) => {
        const rows = await queries.all<HistoryRow>(BEFORE, [task_id, limit]);
        return [...rows].reverse();
      }),
  };
}
