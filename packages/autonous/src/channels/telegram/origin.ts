import { isObject, parseKept } from "../../store/sqlite/kept-json.ts";
import type { Task } from "../../store/store.ts";

/** What is kept with a task of the message that it came from. */
export interface Origin {
  /** Answers reply to it. */
  readonly message_id: number;
  /** What the person calls themselves; by their id they are known elsewhere. */
  readonly name?: string;
  /** Set where further messages may belong to the task. */
  readonly gathered?: Gathered;
}

/** The messages that a task was made of: what is needed to add another one. */
export interface Gathered {
  readonly user: number;
  readonly album?: string;
  /** Of the last one. */
  readonly sent_at: number;
  /** Of a text that an app may have split: how long its last part was. */
  readonly long?: number;
  /** How much of the task's text, from its beginning, are the user's own words, or stands for them. */
  readonly own: number;
  readonly isPlaceholder?: true;
  readonly parts: number;
  /** Digest of what the first one replies to. */
  readonly carried?: string;
}

export function writeOrigin({ message_id, name, gathered }: Origin): string {
  return JSON.stringify({ message_id, name, gathered });
}

/** Undefined for tasks of other channels, and for those that an older version took in. */
export function originOf({ source, origin }: Pick<Task, "source" | "origin">): Origin | undefined {
  return source === "telegram" && origin !== null ? parseKept(origin, isOrigin) : undefined;
}

function isOrigin(value: unknown): value is Origin {
  if (!isObject(value) || !Number.isSafeInteger(value["message_id"])) return false;
  const { gathered } = value;
  return gathered === undefined || (isObject(gathered) && Number.isSafeInteger(gathered["own"]));
}
