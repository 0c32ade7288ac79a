import { cutTo } from "../../channels/terminal/width.ts";
import { existsSync } from "node:fs";
import { databaseFile, openStore } from "../../store/open-store.ts";
import type { Store, Task } from "../../store/store.ts";
import { isTaskState, TASK_STATE_NAMES } from "../../store/task-states.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../open-runtime.ts";
import { readLimit } from "../options.ts";
import { table } from "../table.ts";

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
  const rows = [["TASK", "MADE", "STATE", "TEXT"], ...tasks.map(toRow)];
  if (print.json) print.document(tasks);
  else if (tasks.length === 0) print.note("There is no such task");
  else print.text(table(rows, { width: print.textWidth, fixed: 3, last: "cut" }));
  return EXIT.done;
}

function toRow({ task_id, state, created_at, text }: Task): string[] {
  const made = new Date(created_at).toISOString().replace(/:\d\d\.\d+Z$/, "Z");
  return [task_id, made, state, cutTo(text.replaceAll(/\s+/g, " "), 60)];
}

/** `autonous tasks show`. */
export async function show(input: CommandInput): Promise<ExitCode> {
  const { args, print } = input;
  const [id = ""] = args;
  const details = await withStore(input, (store) => store.tasks.get(id));
  if (details === undefined)
    throw new UsageError(`There is no task "${id}"; "autonous tasks list" shows those that there are`);
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
  const width = print.textWidth;
  print.text(
    [table(facts, { width }), "", table(phases, { width }), ...(reply === null ? [] : ["", reply])].join("\n"),
  );
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
