import { expect, test } from "vitest";
import { problemOfReply } from "./reply-words.ts";

// oxfmt-ignore
const MESSAGES = [
  { message: "Cannot use the reply: it is empty; call a tool, or give the final answer", shows: "it is empty" },
  { message: "Cannot use the reply: it ended as a reply with tool calls but has none; write each call as <tool_call>{}</tool_call>", shows: "it ended as a reply with tool calls but has none" },
  { message: "Cannot use the reply: the server could not read its tool call (no; try again)", shows: "the server could not read its tool call (no; try again)" },
  { message: "Cannot use the reply: it said too much", shows: "it said too much" },
  { message: "; x", shows: "; x" },
  { message: "", shows: "" },
] as const;

for (const { message, shows } of MESSAGES) {
  test(`of ${JSON.stringify(message)} a person reads ${JSON.stringify(shows)}`, () =>
    expect(problemOfReply(message)).toBe(shows));
}
