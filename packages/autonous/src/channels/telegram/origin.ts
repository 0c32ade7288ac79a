import { isObject, parseKept } from "../../store/kept-json.ts";
import type { Task } from "../../store/store.ts";

/** What is kept with a task of the message that it came from. */
export interface Origin {
  /** Answers reply to it. */
  readonly message_id: number;
  /** What the person calls themselves; by their id they are known elsewhere. */
  readonly name?: string;
}

export function writeOrigin({ message_id, name }: Origin): string {
  return JSON.stringify({ message_id, name });
}

/** Undefined for tasks of other channels, and for those that an older version took in. */
export function originOf({ source, origin }: Pick<Task, "source" | "origin">): Origin | undefined {
  return source === "telegram" && origin !== null ? parseKept(origin, isOrigin) : undefined;
}

function isOrigin(value: unknown): value is Origin {
  return isObject(value) && Number.isSafeInteger(value["message_id"]);
}
