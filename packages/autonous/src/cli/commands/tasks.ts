import { existsSync } from "node:fs";
import { laneOf } from "../../channels/http/lane-of.ts";
import { cutTo } from "../../channels/words/width.ts";
import { databaseFile, openStore } from "../../store/open-store.ts";
import { isStateFolderLocked } from "../../store/sqlite/state-lock.ts";
import type { ForgottenRun, Store, Task, TaskAnswer } from "../../store/store.ts";
import { isTaskState, TASK_STATE_NAMES } from "../../store/queue/task-states.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../session/find-workplace.ts";
import { readLimit } from "../options.ts";
import { personName } from "../session/person.ts";
import { table } from "../output/table.ts";
import { factRows, nextSteps, unsentRows } from "../output/task-details.ts";
import { count } from "../usage.ts";

/** `autonous tasks list`. */
export async function list(input: CommandInput): Promise<ExitCode> {
  const { options, print } = input;
  const limit = readLimit(options["limit"], 20);
  const { state, chat } = options;
  if (state !== undefined && !isTaskState(String(state))) {
    throw new UsageError(`Invalid state "${String(state)}" (one of ${TASK_STATE_NAMES.join(", ")})`);
  }
  const { tasks } = await withStore(input, (store) =>
    store.tasks.list({
      limit,
      ...(state === undefined ? {} : { state: state as Task["state"] }),
      ...(chat === undefined ? {} : { lane: laneOf(String(chat)) }),
    }),
  );
  const rows = [["TASK", "CREATED", "STATE", "CHAT", "TEXT"], ...tasks.map(toRow)];
  if (print.json) print.document(tasks);
  else if (tasks.length === 0) print.note("No matching task");
  else print.text(table(rows, { width: print.textWidth, fixed: 3, last: "cut" }));
  return EXIT.done;
}

function toRow({ task_id, state, created_at, lane, text }: Task): string[] {
  const made = new Date(created_at).toISOString().replace(/:\d\d\.\d+Z$/, "Z");
  return [task_id, made, state, lane, cutTo(text.replaceAll(/\s+/g, " "), 60)];
}

/** `autonous tasks show`. */
export async function show(input: CommandInput): Promise<ExitCode> {
  const { args, print } = input;
  const [id = ""] = args;
  const found = await withStore(input, async (store) => {
    const details = await store.tasks.get(id);
    if (details === undefined) return undefined;
    const approvals = await store.approvals.list({ state: "pending", run_id: details.task.run_id });
    const forgotten = await store.upkeep.forgotten(id);
    return { ...details, approvals, ...(forgotten === undefined ? {} : { forgotten }) };
  });
  if (found === undefined) throw noTask([id]);
  if (print.json) {
    print.document(found);
    return EXIT.done;
  }
  const { audit, reply, unsent, approvals } = found;
  const width = print.textWidth;
  const steps = nextSteps(found).map(([command = "", meaning = ""]) => [`  ${command}`, meaning]);
  const phases = audit.map(({ phase, message, created_at }) => [new Date(created_at).toISOString(), phase, message]);
  const parts = [
    table(factRows(found), { width }),
    table(phases, { width }),
    ...(approvals.length === 0
      ? []
      : [
          table(
            approvals.map(({ request }) => ["waits for", request.approval_id, request.tool, request.reason]),
            { width },
          ),
        ]),
    ...(unsent.length === 0 ? [] : [table(unsentRows(unsent), { width })]),
    ...(reply === null ? [] : [reply]),
    ...(found.forgotten === undefined ? [] : [forgottenText(found.forgotten)]),
    ...(steps.length === 0 ? [] : [`Next:\n${table(steps, { width })}`]),
  ];
  print.text(parts.filter((part) => part !== "").join("\n\n"));
  return EXIT.done;
}

function forgottenText({ events, first_ts, last_ts, forgotten_at }: ForgottenRun): string {
  const when = new Date(forgotten_at).toISOString();
  return `Its record was pruned on ${when}: ${events} events from ${first_ts ?? "?"} to ${last_ts ?? "?"}`;
}

/** `autonous tasks cancel`. */
export async function cancel(input: CommandInput): Promise<ExitCode> {
  return await act(input, "cancel");
}

/** `autonous tasks retry`. */
export async function retry(input: CommandInput): Promise<ExitCode> {
  return await act(input, "retry");
}

/** `autonous tasks resend`. */
export async function resend(input: CommandInput): Promise<ExitCode> {
  return await act(input, "resend");
}

/** `autonous tasks drop`. */
export async function drop(input: CommandInput): Promise<ExitCode> {
  return await act(input, "drop");
}

type Action = "cancel" | "retry" | "resend" | "drop";

/** The message per task, by action and outcome. */
const SAID: Readonly<Record<Action, Readonly<Record<"done" | "stopping", string>>>> = {
  cancel: { done: "was cancelled", stopping: "is being stopped; this takes about a second" },
  retry: { done: "was requeued", stopping: "was requeued" },
  resend: { done: "will be resent", stopping: "will be resent" },
  drop: { done: "was dropped; its record is kept", stopping: "was dropped; its record is kept" },
};

/** Tries every task, even if one fails. A running service picks up the changes itself. */
async function act(input: CommandInput, action: Action): Promise<ExitCode> {
  const { print } = input;
  const ids = [...new Set(input.args)];
  const by = personName();
  const { answers, missing } = await withStore(input, async (store) => {
    const found: TaskAnswer[] = [];
    const none: string[] = [];
    for (const id of ids) {
      const answer = await store.tasks[action](id, by);
      if (answer === undefined) none.push(id);
      else found.push(answer);
    }
    return { answers: found, missing: none };
  });
  if (answers.length === 0) throw noTask(missing);
  if (print.json) print.document({ answers, missing });
  for (const answer of answers) print.note(inWords(answer, action));
  if (missing.length > 0) print.note(noTask(missing).message);
  const taken = answers.filter(({ outcome }) => outcome !== "refused").length;
  if ((action === "retry" || action === "resend") && taken > 0 && !isStateFolderLocked(findWorkplace(input).state_dir))
    print.note(`No service is running here: ${taken === 1 ? "it runs" : "they run"} at the next start`);
  if (missing.length > 0) return EXIT.usage_error;
  return taken === answers.length ? EXIT.done : EXIT.failed;
}

function inWords(answer: TaskAnswer, action: Action): string {
  const { task_id } = answer.task;
  if (answer.outcome === "refused") return `Cannot ${action} ${task_id}: ${answer.why}`;
  return `${task_id} ${SAID[action][answer.outcome]}`;
}

function noTask(ids: readonly string[]): UsageError {
  const which = ids.map((id) => `"${id}"`).join(", ");
  const what = ids.length === 1 ? `No task ${which}` : `No such ${count(ids.length, "task")}: ${which}`;
  return new UsageError(`${what}; "autonous tasks list" shows all tasks`);
}

async function withStore<T>(input: CommandInput, work: (store: Store) => Promise<T>): Promise<T> {
  const file = databaseFile(findWorkplace(input).state_dir);
  if (!existsSync(file))
    throw new UsageError(
      `No service has run here ("${file}" does not exist): start one with autonous serve, or pass --state-dir`,
    );
  const store = await openStore({ file, clock: Date.now });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
