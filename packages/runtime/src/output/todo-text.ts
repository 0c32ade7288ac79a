import type { TodoItem } from "../contract/context.ts";

/** A list of steps, one per line, for people and the model alike: `[x] 1. Read the code`. */
export function todoText(items: readonly TodoItem[]): string {
  return items.map(({ text, done }, i) => `[${done ? "x" : " "}] ${i + 1}. ${text}`).join("\n");
}
