import type { Store, Task, TaskAnswer } from "../../../store/store.ts";
import type { TaskState } from "../../../store/queue/task-states.ts";
import type { AllowedUsers } from "../access/allowed-users.ts";
import type { TelegramClient } from "../api/client.ts";
import { laneOf, personOf } from "../address.ts";
import type { GroupMode } from "../incoming/addressing.ts";
import type { Written } from "../incoming/read-update.ts";
import { originOf } from "../origin.ts";
import { resendUndelivered } from "../outgoing/undelivered.ts";
import { showPlain } from "../outgoing/show.ts";
import { chosenTask, MAX_COUNTED, noSuchTask, queuedIn, runningIn } from "./chosen-task.ts";
import { oneLine } from "./short-text.ts";
import { briefText, elapsedText, shortId, taskLine, taskTitle } from "./task-line.ts";
import type { LineReader } from "./task-line.ts";

export interface CommandParts {
  readonly store: Store;
  readonly client: TelegramClient;
  readonly allowed: AllowedUsers;
  readonly clock: () => number;
  /** A task was put into the queue, stopped or put back: the worker looks. */
  readonly onTask: () => void;
  /** The tools that are offered here, a line each. */
  readonly listTools: () => Promise<readonly string[]>;
  /** What is read of groups. */
  readonly groups: GroupMode;
  /** Without a model: each message is a call. */
  readonly isDirect: boolean;
  /** Shows what undoing a task would change; gives the answer where there is nothing to confirm. */
  readonly previewUndo: (written: Written, rest: string) => Promise<string | undefined>;
  /** What the task of a chat does now, if it is known. */
  readonly activityIn: (lane: string) => string | undefined;
  /** What the chat calls a person of the record. */
  readonly nameOf: (person: string) => string;
}

interface CommandCall {
  readonly written: Written;
  /** What stands behind the command. */
  readonly rest: string;
  readonly parts: CommandParts;
}

interface CommandRow {
  readonly meaning: string;
  /** Not in the menu. */
  readonly hidden?: true;
  /** Gives the answer; undefined where it sends one itself. */
  readonly run: (given: CommandCall) => Promise<string | undefined>;
}

/** What the channel answers by itself. Every other `/word` is a task like any other. */
// oxfmt-ignore
const COMMANDS = {
  status: { meaning: "Show what is running and queued",              run: status },
  tasks:  { meaning: "List the latest tasks of this chat",           run: tasks },
  stop:   { meaning: "Stop the running task, or /stop <id>",         run: cancel },
  cancel: { meaning: "Alias of /stop", hidden: true,                 run: cancel },
  retry:  { meaning: "Retry a failed or stopped task: /retry <id>",  run: retry },
  resend: { meaning: "Resend undelivered answers",                   run: ({ written, parts }) => resendUndelivered(written, parts) },
  undo:   { meaning: "Undo the last task's changes, or /undo <id>",  run: ({ written, rest, parts }) => parts.previewUndo(written, rest) },
  new:    { meaning: "Start a new conversation",                     run: startFresh },
  tools:  { meaning: "List the agent's tools",                       run: tools },
  help:   { meaning: "Show this list",                               run: help },
  start:  { meaning: "Alias of /help", hidden: true,                 run: help },
} as const satisfies Record<string, CommandRow>;

/** For the menu of Telegram's apps. */
export const MENU: readonly { readonly command: string; readonly description: string }[] = Object.entries(COMMANDS)
  .filter(([, row]) => !("hidden" in row))
  .map(([command, { meaning }]) => ({ command, description: meaning }));

/** Whether the channel itself answers `/name`. */
export function isCommand(name: string): boolean {
  return Object.hasOwn(COMMANDS, name.toLowerCase());
}

/** False where the text is not one of these commands. */
export async function runCommand(written: Written, parts: CommandParts): Promise<boolean> {
  const [, word = "", rest = ""] = /^\/(\w+)(?:\s+(.*))?$/s.exec(written.text) ?? [];
  const name = word.toLowerCase(); // keyboards of phones capitalise the first letter
  if (!Object.hasOwn(COMMANDS, name)) return false;
  const { run }: CommandRow = COMMANDS[name as keyof typeof COMMANDS];
  const answer = await run({ written, rest: rest.trim(), parts });
  if (answer !== undefined) showPlain(parts.client, written, answer);
  return true;
}

const MAX_LISTED = 15;
const NOTHING = "No task is running or queued.";

async function status({ written, parts }: CommandCall): Promise<string> {
  const { store, clock, activityIn } = parts;
  const lane = laneOf(written);
  const [current, waiting] = [await runningIn(store, lane), await queuedIn(store, lane)];
  if (current === undefined && waiting.length === 0) return NOTHING;
  const count = waiting.length === MAX_COUNTED ? `${MAX_COUNTED} or more` : String(waiting.length);
  const lines = [
    ...(current === undefined
      ? ["No task is running.", ...nextLines(waiting.at(-1), { now: clock(), reader: readerOf(written, parts) })]
      : [taskLine(current, readerOf(written, parts))]),
    ...(typeof current?.started_at !== "number" ? [] : [`Elapsed: ${elapsedText(clock() - current.started_at)}`]),
    ...(current?.state === "waiting_approval" ? [whoHasToAnswer(current, written)] : []),
    ...(current === undefined || current.cancel_by === null ? [] : ["It is being stopped."]),
    ...(current === undefined ? [] : [activityIn(lane) ?? []].flat()),
    ...(waiting.length === 0 ? [] : [`Queued: ${count}`]),
  ];
  return lines.join("\n");
}

function readerOf({ user }: Written, { nameOf }: CommandParts): LineReader {
  return { user, nameOf };
}

/** The task that begins next, and why it has not yet. */
function nextLines(
  task: Task | undefined,
  { now, reader }: { readonly now: number; readonly reader: LineReader },
): readonly string[] {
  if (task === undefined) return [];
  const next = `Next: ${taskLine(task, reader)}`;
  if (task.error === null || task.run_at <= now) return [next];
  return [next, `It failed and is retried in ${elapsedText(task.run_at - now)}: ${briefText(task.error)}`];
}

function whoHasToAnswer(task: Task, { user }: Written): string {
  if (task.user === String(user)) return "Answer the question above to continue.";
  return `${oneLine(originOf(task)?.name ?? "") || "Another person"} has to answer the question above.`;
}

async function tasks({ written, parts }: CommandCall): Promise<string> {
  const page = await parts.store.tasks.list({ lane: laneOf(written), limit: MAX_LISTED });
  if (page.tasks.length === 0) return "No tasks in this chat yet.";
  const more = page.next === null ? [] : ["… and older tasks"];
  return [...page.tasks.map((task) => taskLine(task, readerOf(written, parts))), ...more].join("\n");
}

async function cancel({ written, rest, parts }: CommandCall): Promise<string> {
  const { store } = parts;
  const task = await chosenTask({ written, rest, store }, async (lane) => {
    const current = await runningIn(store, lane);
    return current ?? (await queuedIn(store, lane)).at(-1); // newest first: the last is the next to begin
  });
  if (task === undefined) return rest === "" ? NOTHING : noSuchTask(rest);
  return outcome(
    await store.tasks.cancel(task.task_id, personOf(written.user)),
    { written, parts },
    {
      done: "Stopped",
      stopping: "Stopping",
    },
  );
}

const CAN_BE_RETRIED: ReadonlySet<TaskState> = new Set(["failed", "dead_letter", "cancelled"]);

async function retry({ written, rest, parts }: CommandCall): Promise<string> {
  const { store } = parts;
  const task = await chosenTask({ written, rest, store }, async (lane) => {
    const { tasks: last } = await store.tasks.list({ lane, limit: MAX_COUNTED });
    return last.find(({ state }) => CAN_BE_RETRIED.has(state));
  });
  if (task === undefined) return rest === "" ? "No failed or stopped task in this chat." : noSuchTask(rest);
  return outcome(
    await store.tasks.retry(task.task_id, personOf(written.user)),
    { written, parts },
    {
      done: "Retrying",
      stopping: "Retrying",
    },
  );
}

function outcome(
  answer: TaskAnswer | undefined,
  { written, parts }: Pick<CommandCall, "written" | "parts">,
  words: Readonly<Record<"done" | "stopping", string>>,
): string {
  if (answer === undefined) return "The task no longer exists.";
  if (answer.outcome === "refused")
    return `Not possible, ${answer.why}: ${taskLine(answer.task, readerOf(written, parts))}`;
  parts.onTask();
  const { task_id, text } = answer.task; // without its state, which is about to change
  return `${words[answer.outcome]}: ${shortId(task_id)} · ${taskTitle(text)}`;
}

async function startFresh({ written, parts }: CommandCall): Promise<string> {
  const { store } = parts;
  const lane = laneOf(written);
  await store.history.startFresh({ lane, external_id: String(written.update_id), by: personOf(written.user) });
  const busy = (await runningIn(store, lane)) ?? (await queuedIn(store, lane))[0];
  const rest = busy === undefined ? "" : " Running and queued tasks still belong to the earlier one; /stop stops them.";
  return `New conversation: your next message starts without the earlier ones. Files, memory and permissions stay.${rest}`;
}

async function tools({ parts }: CommandCall): Promise<string> {
  const lines = await parts.listTools();
  return lines.length === 0 ? "No tools are available here." : lines.join("\n");
}

const DIRECT =
  "No model is configured: each message is one tool call, such as /ls src or /read notes.txt. You can type:";

async function help({ written, parts }: CommandCall): Promise<string> {
  const lines = MENU.map(({ command, description }) => `/${command}: ${description}`);
  const mustName = !written.isPrivate && parts.groups === "addressed";
  const intro = [
    ...(mustName ? ["In this group, mention the bot or reply to it: other messages are not read."] : []),
    ...(parts.isDirect ? [] : ["Write what you want done."]),
    "Tasks of a chat run one at a time, in order. Reply to a question to deny with a reason.",
  ].join(" ");
  const other = mustName ? "Any other text for the bot is a task." : "Any other text is a task for the agent.";
  return [
    intro,
    "",
    ...lines,
    "",
    ...(parts.isDirect ? [DIRECT, ...(await typedCalls(parts))] : [`${other} /tools lists its tools.`]),
  ].join("\n");
}

/** Without the tools whose names are commands of the channel. */
async function typedCalls({ listTools }: CommandParts): Promise<readonly string[]> {
  const lines = await listTools();
  return lines.filter((line) => !isCommand(line.split(":")[0] ?? "")).map((line) => `/${line}`);
}
