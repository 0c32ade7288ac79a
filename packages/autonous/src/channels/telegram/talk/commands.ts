import { makeVisible } from "@autonous/runtime";
import type { Store, Task, TaskAnswer } from "../../../store/store.ts";
import { isOver } from "../../../store/task-states.ts";
import type { TaskState } from "../../../store/task-states.ts";
import type { AllowedUsers } from "../access/allowed-users.ts";
import type { TelegramClient } from "../api/client.ts";
import { laneOf, personOf } from "../address.ts";
import type { Written } from "../incoming/read-update.ts";
import { resendUndelivered } from "../outgoing/undelivered.ts";
import { showPlain } from "../outgoing/show.ts";

export interface CommandParts {
  readonly store: Store;
  readonly client: TelegramClient;
  readonly allowed: AllowedUsers;
  readonly clock: () => number;
  /** A task was taken in, stopped or put back: whoever runs tasks should look. */
  readonly onTask: () => void;
  /** The tools that are offered here, a line each. */
  readonly listTools: () => Promise<readonly string[]>;
}

interface Given {
  readonly written: Written;
  /** What stands behind the command. */
  readonly rest: string;
  readonly parts: CommandParts;
}

interface CommandRow {
  readonly meaning: string;
  /** Not in the menu. */
  readonly hidden?: true;
  readonly run: (given: Given) => Promise<string>;
}

/** What the channel answers by itself. Every other `/word` is a task like any other. */
// oxfmt-ignore
const COMMANDS = {
  status: { meaning: "What is going on in this chat",                                run: status },
  tasks:  { meaning: "The last tasks of this chat",                                  run: tasks },
  cancel: { meaning: "Stop the task in hand, or the one named: /cancel <id>",        run: cancel },
  retry:  { meaning: "Do a task again that failed or was stopped: /retry <id>",      run: retry },
  resend: { meaning: "Send answers again that this chat did not get",                run: ({ written, parts }) => resendUndelivered(written, parts) },
  tools:  { meaning: "What the agent can do here",                                   run: tools },
  help:   { meaning: "What can be said here",                                        run: help },
  start:  { meaning: "The same", hidden: true,                                       run: help },
} as const satisfies Record<string, CommandRow>;

/** For the menu of Telegram's apps. */
export const MENU: readonly { readonly command: string; readonly description: string }[] = Object.entries(COMMANDS)
  .filter(([, row]) => !("hidden" in row))
  .map(([command, { meaning }]) => ({ command, description: meaning }));

/** Whether the channel itself answers `/name`. */
export function isCommand(name: string): boolean {
  return Object.hasOwn(COMMANDS, name.toLowerCase());
}

/** False where the text is no command of ours. */
export async function runCommand(written: Written, parts: CommandParts): Promise<boolean> {
  const [, word = "", rest = ""] = /^\/(\w+)(?:\s+(.*))?$/s.exec(written.text) ?? [];
  const name = word.toLowerCase(); // keyboards of telephones like to begin with a capital
  if (!Object.hasOwn(COMMANDS, name)) return false;
  const answer = await COMMANDS[name as keyof typeof COMMANDS].run({ written, rest: rest.trim(), parts });
  showPlain(parts.client, written, answer);
  return true;
}

/** States in which somebody has the task in hand, or waits for a person to go on with it. */
const IN_HAND: readonly TaskState[] = ["in_progress", "model_round", "tool_round", "reply_sent", "waiting_approval"];
const MOST_COUNTED = 100;
const MOST_LISTED = 15;
const TEXT_LENGTH = 60;
/** The end of an id tells it from the others of a chat. */
const SHORT_ID = 6;

async function inHand({ store }: CommandParts, lane: string): Promise<Task | undefined> {
  for (const state of IN_HAND) {
    const [task] = (await store.tasks.list({ lane, state, limit: 1 })).tasks;
    if (task !== undefined) return task;
  }
  return undefined;
}

async function queued({ store }: CommandParts, lane: string): Promise<readonly Task[]> {
  return (await store.tasks.list({ lane, state: "queued", limit: MOST_COUNTED })).tasks;
}

async function status({ written, parts }: Given): Promise<string> {
  const lane = laneOf(written);
  const [current, waiting] = [await inHand(parts, lane), await queued(parts, lane)];
  if (current === undefined && waiting.length === 0) return "Nothing is going on in this chat.";
  const count = waiting.length === MOST_COUNTED ? `${MOST_COUNTED} or more` : String(waiting.length);
  const lines = [
    current === undefined ? "Nothing is in hand." : lineOf(current),
    ...(typeof current?.started_at !== "number" ? [] : [`Begun ${ago(parts.clock() - current.started_at)} ago.`]),
    ...(current?.state === "waiting_approval" ? ["It waits for your answer to the question above."] : []),
    ...(waiting.length === 0 ? [] : [`Waiting in this chat: ${count}.`]),
  ];
  return lines.join("\n");
}

async function tasks({ written, parts }: Given): Promise<string> {
  const page = await parts.store.tasks.list({ lane: laneOf(written), limit: MOST_LISTED });
  if (page.tasks.length === 0) return "There are no tasks in this chat yet.";
  const more = page.next === null ? [] : ["… and older ones"];
  return [...page.tasks.map(lineOf), ...more].join("\n");
}

async function cancel({ written, rest, parts }: Given): Promise<string> {
  const task = await chosen({ written, rest, parts }, async (lane) => {
    const current = await inHand(parts, lane);
    return current ?? (await queued(parts, lane)).at(-1); // newest first: the last is the next to begin
  });
  if (task === undefined) return rest === "" ? "Nothing is going on in this chat." : noSuchTask(rest);
  return outcome(await parts.store.tasks.cancel(task.task_id, personOf(written.user)), parts, {
    done: "Stopped",
    stopping: "It is being stopped",
  });
}

const CAN_BE_RETRIED: ReadonlySet<TaskState> = new Set(["failed", "dead_letter", "cancelled"]);

async function retry({ written, rest, parts }: Given): Promise<string> {
  const task = await chosen({ written, rest, parts }, async (lane) => {
    const { tasks: last } = await parts.store.tasks.list({ lane, limit: MOST_COUNTED });
    return last.find(({ state }) => CAN_BE_RETRIED.has(state));
  });
  if (task === undefined) return rest === "" ? "No task of this chat has failed or was stopped." : noSuchTask(rest);
  return outcome(await parts.store.tasks.retry(task.task_id, personOf(written.user)), parts, {
    done: "It is done again",
    stopping: "It is done again",
  });
}

async function tools({ parts }: Given): Promise<string> {
  const lines = await parts.listTools();
  return lines.length === 0 ? "No tools are offered here." : lines.join("\n");
}

async function help(): Promise<string> {
  const lines = MENU.map(({ command, description }) => `/${command}: ${description}`);
  return [
    "Write what is to be done. The tasks of a chat are done one at a time, in order. A call that needs your yes asks with buttons.",
    "",
    ...lines,
  ].join("\n");
}

const CHOSEN = "telegram:chosen";

/**
 * The task that a command is about, of this chat only. Which one that is without a name is put on record first: should
 * the command be delivered again after a crash, it must not reach the task behind.
 */
async function chosen(
  { written, rest, parts }: Given,
  byDefault: (lane: string) => Promise<Task | undefined>,
): Promise<Task | undefined> {
  const { kv } = parts.store;
  const lane = laneOf(written);
  if (rest !== "") return await named(rest, lane, parts);
  const before = /^(\d+) (\S+)$/.exec((await kv.get(CHOSEN)) ?? "");
  if (before !== null && Number(before[1]) === written.update_id) return await named(before[2] ?? "", lane, parts);
  const task = await byDefault(lane);
  if (task !== undefined) await kv.set(CHOSEN, `${written.update_id} ${task.task_id}`);
  return task;
}

/** By its whole id, or by the end of it as `/tasks` shows it. */
async function named(name: string, lane: string, { store }: CommandParts): Promise<Task | undefined> {
  const whole = (await store.tasks.get(name))?.task;
  if (whole !== undefined) return whole.lane === lane ? whole : undefined;
  if (name.length < SHORT_ID) return undefined;
  const { tasks: last } = await store.tasks.list({ lane, limit: MOST_COUNTED });
  const found = last.filter(({ task_id }) => task_id.toLowerCase().endsWith(name.toLowerCase()));
  return found.length === 1 ? found[0] : undefined;
}

function noSuchTask(name: string): string {
  return `There is no task "${makeVisible(name.slice(0, TEXT_LENGTH))}" in this chat; /tasks shows those that there are.`;
}

function outcome(
  answer: TaskAnswer | undefined,
  { onTask }: CommandParts,
  words: Readonly<Record<"done" | "stopping", string>>,
): string {
  if (answer === undefined) return "There is no such task any more.";
  if (answer.outcome === "refused") return `${answer.why}: ${lineOf(answer.task)}`;
  onTask();
  return `${words[answer.outcome]}: ${lineOf(answer.task)}`;
}

/** What the states are called by people who do not run the service. */
// oxfmt-ignore
const WORDS: Readonly<Partial<Record<TaskState, string>>> = {
  in_progress: "in hand", model_round: "in hand", tool_round: "in hand", reply_sent: "done",
  waiting_approval: "waits for you", dead_letter: "given up",
};

function lineOf({ task_id, state, text, error }: Task): string {
  const short = oneLine(text);
  const why = isOver(state) && error !== null ? ` (${oneLine(error)})` : "";
  return `${task_id.slice(-SHORT_ID)} · ${WORDS[state] ?? state} · ${short}${why}`;
}

function oneLine(text: string): string {
  const line = makeVisible(text.replaceAll(/\s+/g, " ").trim());
  return line.length <= TEXT_LENGTH ? line : `${line.slice(0, TEXT_LENGTH).toWellFormed()}…`;
}

function ago(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}
