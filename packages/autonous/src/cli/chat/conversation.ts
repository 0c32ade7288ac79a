import type { Message } from "../../model/provider.ts";
import type { AgentSession, Asked } from "../agent-session.ts";
import type { CommandInput } from "../command.ts";
import { report } from "../commands/run.ts";
import { usageText } from "../usage.ts";

/** A conversation: one run, in which each message is a task. */
export interface Chat extends CommandInput {
  readonly session: AgentSession;
  history: readonly Message[];
  /** How the model saw it at last. */
  window?: Asked["window"];
  /** Of each message that changed something: how to undo that. */
  readonly changes: (readonly string[])[];
  /** What the model is to be told with the next message. */
  readonly news: string[];
}

/** Gives a message to the model, and shows what came of it. */
export async function say(chat: Chat, text: string): Promise<void> {
  const { session, history, window, news, print } = chat;
  const told = [...news.splice(0), text].join("\n\n");
  const asked = await session.ask({ text: told, history, ...(window === undefined ? {} : { window }) });
  remember(chat, asked);
  if (!print.json) print.note(usageText(asked));
  report(asked, session, print);
}

function remember(chat: Chat, { messages, window, undo_ids, outcome, error }: Asked): void {
  if (undo_ids.length > 0) chat.changes.push(undo_ids);
  if (messages !== undefined) chat.history = closed(messages);
  chat.window = window;
  if (outcome !== "completed")
    chat.news.push(`(The task before this ended without an answer: ${error?.message ?? outcome})`);
}

/** Every provider wants question and answer in turn, and a result for each call: what was broken off is closed. */
function closed(messages: readonly Message[]): readonly Message[] {
  const last = messages.at(-1);
  const isAsking = last?.role === "assistant" && (last.calls ?? []).length > 0;
  if (last?.role === "assistant" && !isAsking) return messages;
  return [...(isAsking ? messages.slice(0, -1) : messages), { role: "assistant", text: "(This was broken off.)" }];
}
