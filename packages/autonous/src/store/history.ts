import type { Database, Queries } from "./database.ts";
import type { History, HistoryRow, Task } from "./store.ts";

const INSERT = "insert into history (lane, task_id, role, text, created_at) values (?, ?, ?, ?, ?)";
/** What is said later in the chat, by tasks that were cancelled say, is not what the task went on from. */
const RECENT = `select history.task_id, role, history.text, history.created_at
  from history join inbox on inbox.task_id = history.task_id
  where history.lane = ? and position < coalesce((select position from inbox where task_id = ?), 9223372036854775807)
  order by history.id desc limit ?`;

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
    recent: (lane, limit, { before = null } = {}) =>
      database.read(`read the history of lane "${lane}"`, async (queries) => {
        const rows = await queries.all<HistoryRow>(RECENT, [lane, before, limit]);
        return [...rows].reverse();
      }),
  };
}
