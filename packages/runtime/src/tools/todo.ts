import { z } from "zod";
import type { TodoItem } from "../contract/context.ts";
import { defineTool } from "../contract/tool.ts";
import { todoText } from "../output/todo-text.ts";
import { ToolError } from "../protocol/errors.ts";
import { SHOWS_MESSAGE } from "./message.ts";

const MAX_STEPS = 30;

const args = () =>
  z.strictObject({
    set: z.array(z.string().min(1).max(200)).min(1).max(MAX_STEPS).optional().describe("The steps; replaces the list"),
    tick: z.array(z.int().min(1).max(MAX_STEPS)).max(MAX_STEPS).optional().describe("Numbers of completed steps"),
  });

const returns = () => z.strictObject({ items: z.array(z.strictObject({ text: z.string(), done: z.boolean() })) });

export const todo = defineTool({
  name: "todo",
  version: "1.0.0",
  description: "Keep a list of steps for multi-step work. The user sees it and each step you tick.",
  args,
  returns,
  ...SHOWS_MESSAGE,
  idempotent: true, // the same list with the same completed steps
  search_hint: "todo list plan steps tick progress",

  async execute({ set, tick = [] }, { todo: list }) {
    const isChanged = set !== undefined || tick.length > 0;
    const items = isChanged
      ? await list.change((before) => ticked(set?.map(toStep) ?? before, tick))
      : await list.read();
    const shown = items.length === 0 ? "No steps yet" : todoText(items);
    return { data: { items: [...items] }, stdout: `${shown}\n` };
  },
});

/** On one line: the list is numbered by lines. */
function toStep(text: string): TodoItem {
  return { text: text.replaceAll(/\s+/g, " ").trim(), done: false };
}

function ticked(items: readonly TodoItem[], numbers: readonly number[]): readonly TodoItem[] {
  const missing = numbers.find((number) => number > items.length);
  if (missing !== undefined) {
    const has = items.length === 0 ? "the list is empty" : `the list has ${items.length} steps`;
    throw new ToolError("InvalidArguments", `Cannot tick step ${missing}: ${has}`, {
      hint: "Call todo without arguments to see the list, or set it first.",
    });
  }
  return items.map((item, i) => (numbers.includes(i + 1) ? { ...item, done: true } : item));
}
