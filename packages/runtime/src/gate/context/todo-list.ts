import type { TodoItem, TodoList } from "../../contract/context.ts";
import type { Journal } from "../../contract/journal.ts";
import { todoText } from "../../output/todo-text.ts";
import { draftEvent } from "../draft-event.ts";
import type { GateParts } from "../parts.ts";
import type { Stage } from "../stages.ts";

/** The recorded list of each run, including a change in progress. */
const lists = new WeakMap<Journal, Promise<readonly TodoItem[]>>();

/**
 * The to-do list of a run, stored in its record: each change is a `todo` event with the complete list, and the last one
 * counts, also for a process that resumes the run. Changes within one process are serialized.
 */
export function openTodoList(call: Stage, parts: GateParts): TodoList {
  const { journal } = parts;
  return {
    read: async () => await currentList(journal),
    async change(plan) {
      const before = currentList(journal);
      const changed = before.then((items) => record(call, parts, plan(items)));
      const after = changed.catch(() => before); // nothing was recorded: the old list is still valid
      after.catch(() => lists.delete(journal)); // the record could not be read: the next call retries
      lists.set(journal, after);
      return await changed;
    },
  };
}

function currentList(journal: Journal): Promise<readonly TodoItem[]> {
  const known = lists.get(journal) ?? readLast(journal);
  lists.set(journal, known);
  known.catch(() => lists.delete(journal)); // the caller gets the error; the next call retries
  return known;
}

async function record(
  call: Stage,
  { journal, redactor, clock }: GateParts,
  planned: readonly TodoItem[],
): Promise<readonly TodoItem[]> {
  const items = planned.map(({ text, done }) => ({ text: redactor.redact(text).text, done }));
  const { tool_call_id } = call.request;
  const payload = { tool_call_id, items, content: todoText(items) };
  await journal.append([draftEvent(call, "todo", payload, clock())]);
  return items;
}

async function readLast(journal: Journal): Promise<readonly TodoItem[]> {
  let items: readonly TodoItem[] = [];
  for await (const { type, payload } of journal.read()) {
    if (type === "todo") items = itemsIn(payload["items"]);
  }
  return items;
}

/** Keeps the valid items of a damaged record. */
function itemsIn(value: unknown): readonly TodoItem[] {
  const rows: readonly unknown[] = Array.isArray(value) ? value : [];
  return rows.flatMap((row) => {
    const { text, done } = Object(row) as Partial<TodoItem>;
    return typeof text === "string" ? [{ text, done: done === true }] : [];
  });
}
