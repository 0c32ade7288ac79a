import type { RuntimeEvent } from "@autonous/runtime";
import type { HistoryWindow } from "../../agent/window/context-window.ts";
import type { Message } from "../../model/provider.ts";
import { UsageError } from "../command.ts";
import { Records, runFile } from "./records.ts";
import { holderOf } from "./run-holder.ts";

/** A task as the record of its run has it. */
export interface RecordedTask {
  readonly task_id: string;
  /** Redacted. */
  readonly text: string;
  readonly trace_id: string;
  /** Undefined: it was broken off, or waits for a person. */
  readonly ended?: "completed" | "failed";
  /** The reply that was its answer, as it came; or why there is none. */
  readonly reply?: string;
}

export interface RecordedRun {
  readonly run_id: string;
  readonly tasks: readonly [RecordedTask, ...RecordedTask[]];
  /** What the first of them came to, where a person had them summarised. */
  readonly compacted?: Compacted;
}

interface Compacted {
  readonly summary: string;
  /** Number of tasks that it stands for. */
  readonly tasks: number;
}

/** The run that an id means, to be gone on with. Throws `UsageError` where it is none that can be. */
export async function findRecordedRun(state_dir: string, id: string): Promise<RecordedRun> {
  const records = await Records.open(state_dir);
  try {
    const run_id = await records.findRun(id);
    if ((await records.runs()).get(run_id) === "store")
      throw new UsageError(
        `"${id}" is the service's, which goes on with it by itself: see "autonous tasks show ${id}"`,
      );
    const holder = holderOf(runFile(state_dir, run_id));
    if (holder !== undefined)
      throw new UsageError(`Cannot go on with "${id}": the process ${holder} is at it; end that one first`);
    const { tasks, compacted } = await readTasks(records.read(run_id));
    const [first, ...rest] = tasks;
    if (first === undefined)
      throw new UsageError(
        `"${id}" has no task to go on with: it is the record of calls that were made without a model`,
      );
    return { run_id, tasks: [first, ...rest], ...(compacted === undefined ? {} : { compacted }) };
  } finally {
    await records.close();
  }
}

interface ReadTasks {
  readonly tasks: readonly RecordedTask[];
  readonly compacted: Compacted | undefined;
}

async function readTasks(events: AsyncIterable<RuntimeEvent>): Promise<ReadTasks> {
  const tasks = new Map<string, RecordedTask>();
  let compacted: Compacted | undefined;
  for await (const event of events) {
    const { type, task_id, trace_id, payload } = event;
    if (task_id === null) continue;
    const task = tasks.get(task_id);
    if (type === "agent.started") {
      tasks.set(task_id, { task_id, trace_id, text: String(payload["task"]) });
    } else if (task !== undefined) {
      tasks.set(task_id, { ...task, ...changeOf(event) });
    } else if (type === "model.completed" && payload["kind"] === "summary") {
      compacted = { summary: String(payload["text"]), tasks: tasks.size };
    }
  }
  return { tasks: [...tasks.values()], compacted };
}

function changeOf({ type, payload }: RuntimeEvent): Partial<RecordedTask> {
  if (type === "model.completed" && payload["kind"] === "final") return { reply: String(payload["text"]) };
  if (type === "agent.completed") return { ended: "completed" };
  if (type !== "agent.failed") return {};
  return { ended: "failed", reply: `(This ended without an answer. ${String(payload["message"])})` };
}

/** What was asked and answered in tasks that are over, for a model to know what it goes on from. */
export function historyOf(tasks: readonly RecordedTask[]): readonly Message[] {
  return tasks.flatMap(({ text, reply = "(This was interrupted.)" }): Message[] => [
    { role: "user", text },
    { role: "assistant", text: reply },
  ]);
}

/** What of that history is shown: what was summarised is not. */
export function windowOf({ compacted }: Pick<RecordedRun, "compacted">): HistoryWindow | undefined {
  if (compacted === undefined) return undefined;
  const { summary, tasks } = compacted;
  return { from: 2 * tasks, whole_from: 2 * tasks, summary };
}
