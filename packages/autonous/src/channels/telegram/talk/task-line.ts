import type { Task } from "../../../store/store.ts";
import { stoppedError } from "../../../store/queue/stop-task.ts";
import { isOver } from "../../../store/queue/task-states.ts";
import type { TaskState } from "../../../store/queue/task-states.ts";
import { personOf } from "../address.ts";
import { wordsForPeople } from "../incoming/task-words.ts";
import { cut, oneLine } from "./short-text.ts";

const TEXT_LENGTH = 60;
/** The end of an id tells it from the others of a chat. */
export const SHORT_ID = 6;

/** What the states are called for people who do not run the service. */
// oxfmt-ignore
const WORDS: Readonly<Partial<Record<TaskState, string>>> = {
  in_progress: "running", model_round: "running", tool_round: "running", reply_sent: "done",
  waiting_approval: "waiting for your answer", dead_letter: "failed, no more retries",
};

/** For whom a line is written. */
export interface LineReader {
  readonly user: number;
  /** What the chat calls a person of the record. */
  readonly nameOf: (person: string) => string;
}

/** A task on one line: id, state, text, and why it ended. Only the person who gave it can answer what it asks. */
export function taskLine(task: Task, reader: LineReader): string {
  const { task_id, state, text, error, user } = task;
  const why = isOver(state) && error !== null ? ` (${briefText(whyEnded(error, task, reader))})` : "";
  const isOthers = state === "waiting_approval" && user !== String(reader.user);
  const word = isOthers ? "waiting for an answer" : (WORDS[state] ?? state);
  return `${shortId(task_id)} · ${word} · ${taskTitle(text)}${why}`;
}

function whyEnded(error: string, { cancel_by: by }: Task, { user, nameOf }: LineReader): string {
  if (by === null || error !== stoppedError(by)) return error;
  return stoppedError(by === personOf(user) ? "you" : nameOf(by));
}

export function shortId(task_id: string): string {
  return task_id.slice(-SHORT_ID);
}

/** The beginning of a task, enough to recognise it. */
export function taskTitle(text: string): string {
  return briefText(wordsForPeople(text));
}

/** The beginning of a text. */
export function briefText(text: string): string {
  return cut(oneLine(text), TEXT_LENGTH);
}

/** `12 s`, `1 min 12 s`, `2 h 5 min`. */
export function elapsedText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)];
  if (minutes === 0) return `${seconds} s`;
  return hours === 0 ? `${minutes} min ${seconds % 60} s` : `${hours} h ${minutes % 60} min`;
}

/** `1 file`, `2 files`. */
export function countOf(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
