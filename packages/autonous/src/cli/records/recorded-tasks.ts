import type { RuntimeEvent } from "@autonous/runtime";
import type { HistoryWindow } from "../../agent/window/context-window.ts";
import type { Message } from "../../model/provider.ts";
import { UsageError } from "../command.ts";
import { Records, runFile } from "./records.ts";
import { realpathSync } from "node:fs";
import { openFiles } from "../../upkeep/open-files.ts";

/** A task as recorded in its run. */
export interface RecordedTask {
  readonly task_id: string;
  /** Redacted. */
  readonly text: string;
  readonly trace_id: string;
  /** Undefined: interrupted, or waiting for approval. */
  readonly ended?: "completed" | "failed";
  /** The raw reply with the answer, or why it has none. */
  readonly reply?: string;
}

export interface RecordedRun {
  readonly run_id: string;
  readonly tasks: readonly [RecordedTask, ...RecordedTask[]];
  /** The summary of the first tasks, if the user compacted them. */
  readonly compacted?: RecordedSummary;
}

interface RecordedSummary {
  readonly summary: string;
  /** Number of tasks that it summarises. */
  readonly tasks: number;
}

/** The run to resume, by the id of a run or task. Throws `UsageError` if it cannot be resumed. */
export async function findRecordedRun(state_dir: string, id: string): Promise<RecordedRun> {
  const records = await Records.open(state_dir);
  try {
    const run_id = await records.findRun(id);
    if ((await records.runs()).get(run_id) === "store")
      throw new UsageError(
        `"${id}" belongs to the service, which resumes it automatically: see "autonous tasks show ${id}"`,
      );
    const holder = holderOf(runFile(state_dir, run_id));
    if (holder !== undefined)
      throw new UsageError(`Cannot resume "${id}": process ${holder} is running it; stop that one first`);
    const { tasks, compacted } = await readTasks(records.read(run_id));
    const [first, ...rest] = tasks;
    if (first === undefined) throw new UsageError(`"${id}" has no task to resume: it recorded calls without a model`);
    return { run_id, tasks: [first, ...rest], ...(compacted === undefined ? {} : { compacted }) };
  } finally {
    await records.close();
  }
}

interface ReadTasks {
  readonly tasks: readonly RecordedTask[];
  readonly compacted: RecordedSummary | undefined;
}

async function readTasks(events: AsyncIterable<RuntimeEvent>): Promise<ReadTasks> {
  const tasks = new Map<string, RecordedTask>();
  let compacted: RecordedSummary | undefined;
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

/** Questions and answers of finished tasks, as history for the model. */
export function historyOf(tasks: readonly RecordedTask[]): readonly Message[] {
  return tasks.flatMap(({ text, reply = "(This was interrupted.)" }): Message[] => [
    { role: "user", text },
    { role: "assistant", text: reply },
  ]);
}

/** The visible part of that history, without what was summarised. */
export function windowOf({ compacted }: Pick<RecordedRun, "compacted">): HistoryWindow | undefined {
  if (compacted === undefined) return undefined;
  const { summary, tasks } = compacted;
  return { from: 2 * tasks, whole_from: 2 * tasks, summary };
}

/**
 * The pid of another process that is writing this record, as far as this user can see. Resuming its run would corrupt
 * the record.
 */
function holderOf(file: string): string | undefined {
  const real = realpathSync(file);
  for (const { pid, path } of openFiles()) if (path === real) return pid;
  return undefined;
}
