import { z } from "zod";
import { LEVELS } from "../contract/context.ts";
import { defineTool } from "../contract/tool.ts";
import { SHOWS_MESSAGE } from "./message.ts";

const args = () =>
  z.strictObject({
    content: z.string().min(1).max(16_000).describe("Text to show"),
    level: z.enum(LEVELS).default("info"),
    title: z.string().max(200).optional().describe("Heading"),
    thought: z.string().max(4_000).optional().describe("Reason, for the audit log only"),
    evidence: z.array(z.string().min(1).max(1_000)).max(20).optional().describe("Sources, such as src/app.ts:12"),
  });

const returns = () => z.strictObject({ level: z.enum(LEVELS) });

export const display = defineTool({
  name: "display",
  version: "1.0.0",
  description:
    "Show the user a message immediately, while the task continues: progress, findings. Not for the final answer.",
  args,
  returns,
  aliases: [{ name: "message_user", adapt: adaptMessage }],
  ...SHOWS_MESSAGE,
  idempotent: true, // a repeated call with the same id sends nothing twice
  search_hint: "show tell message user progress status",

  async execute(given, { display: show }) {
    const { content, level, title, thought, evidence } = given;
    await show({
      content,
      level,
      ...(title === undefined ? {} : { title }),
      ...(thought === undefined ? {} : { thought }),
      ...(evidence === undefined ? {} : { evidence }),
    });
    return { data: { level }, stdout: "shown\n" };
  },
});

/** Names that other clients use for the same tool. */
function adaptMessage(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { message, text, ...rest } = given;
  const content = message ?? text;
  return { ...(content === undefined ? {} : { content }), ...rest };
}
