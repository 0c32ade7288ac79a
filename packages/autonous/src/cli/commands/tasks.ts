import { existsSync } from "node:fs";
import { openStore } from "../../store/open-store.ts";
import type { Store, Task } from "../../store/store.ts";
import { isTaskState, TASK_STATE_NAMES } from "../../store/task-states.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { databaseFile, findWorkplace } from "../open-runtime.ts";
import { readLimit } from "../options.ts";
import { table } from "../print.ts";

/** `autonous tasks list`. */
export async function list(input: CommandInput): Promise<ExitCode> {
  const { options, print } = input;
  const limit = readLimit(options["limit"], 20);
  const state = options["state"];
  if (state !== undefined && !isTaskState(String(state))) {
    throw new UsageError(`There is no state "${String(state)}": it is one of ${TASK_STATE_NAMES.join(", ")}`);
  }
  const { tasks } = await withStore(input, (store) =>
    store.tasks.list({ limit, ...(state === undefined ? {} : { state: state as Task["state"] }) }),
  );
  if (print.json) print.document(tasks);
  if (tasks.length === 0) print.note("There is no such task");
  else print.text(table([["TASK", "STATE", "MADE", "TEXT"], ...tasks.map(toRow)]));
  return EXIT.done;
}

function toRow({ task_id, state, created_at, text }: Task): string[] {
  const line = text.replaceAll(/\s+/g, " ");
  return [task_id, state, new Date(created_at).toISOString(), line.length > 60 ? `${line.slice(0, 59)}…` : line];
}

/** `autonous tasks show`. */
export async function show(input: CommandInput): Promise<ExitCode> {
  const { args, print } = input;
  const [id = ""] = args;
  const details = await withStore(input, (store) => store.tasks.get(id));
  if (details === undefined) throw new UsageError(`There is no task "${id}"`);
  if (print.json) print.document(details);
  const { task, audit, reply } = details;
  const facts = [
    ["task", task.task_id],
    ["run", task.run_id],
    ["state", task.state],
    ["chat", task.lane],
    ["attempts", `${task.attempts} (${task.crashes} crashes)`],
    ["text", task.text.replaceAll("\n", " ")],
    ...(task.error === null ? [] : [["error", task.error]]),
  ];
  const phases = audit.map(({ phase, message, created_at }) => [new Date(created_at).toISOString(), phase, message]);
  print.text([table(facts), "", table(phases), ...(reply === null ? [] : ["", reply])].join("\n"));
  return EXIT.done;
}

async function withStore<T>(input: CommandInput, work: (store: Store) => Promise<T>): Promise<T> {
  const file = databaseFile(findWorkplace(input).state_dir);
  if (!existsSync(file))
    throw new UsageError(
      `There is no service's store here ("${file}"): start one with autonous serve, or give --state-dir`,
    );
  const store = await openStore({ file, clock: Date.now });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
