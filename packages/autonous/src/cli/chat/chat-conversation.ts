import { makeId, makeTraceId } from "@autonous/runtime/internal";
import type { Message } from "../../model/provider.ts";
import type { AgentSession, TaskOutcome } from "../session/agent-session.ts";
import type { CommandInput } from "../command.ts";
import { report } from "../commands/run.ts";
import type { Workplace } from "../../workplace/workplace.ts";
import { findRecordedRun, historyOf, windowOf } from "../records/recorded-tasks.ts";
import { attachFiles } from "./attach.ts";
import { readChatRecord } from "./chat-record.ts";
import type { ChatRecord } from "./chat-record.ts";
import { statusLine } from "./status-line.ts";

/** The conversation so far, and its run. */
export interface Conversation {
  /** Undefined: a new conversation. */
  readonly run_id?: string | undefined;
  readonly history: readonly Message[];
  readonly window?: TaskOutcome["window"];
}

/** A conversation: one run, in which each message is a task. */
export interface Chat extends CommandInput {
  readonly place: Workplace;
  /** Replaced by `/clear` and `/resume`. */
  session: AgentSession;
  /** Opens a run with the same settings. */
  readonly open: (run_id: string | undefined) => Promise<AgentSession>;
  history: readonly Message[];
  /** The context window of the last request. */
  window?: TaskOutcome["window"];
  /** Notes to send to the model with the next message. */
  readonly news: string[];
  /** Whether a message was ever sent to the model, so that the chat can be resumed. */
  isBegun: boolean;
}

export const NEW_CONVERSATION: Conversation = { history: [] };

/** The recorded conversation of a run. Throws `UsageError` if it cannot be resumed. */
export async function findConversation({ state_dir }: Workplace, id: string): Promise<Conversation> {
  const run = await findRecordedRun(state_dir, id);
  return { run_id: run.run_id, history: historyOf(run.tasks), window: windowOf(run) };
}

/** Switches to another conversation. If that cannot be opened, the current one stays open. */
export async function switchTo(chat: Chat, { run_id, history, window }: Conversation): Promise<void> {
  const { session: before } = chat;
  const session = await chat.open(run_id);
  session.provider = before.provider;
  Object.assign(chat, { session, history, window, isBegun: run_id !== undefined });
  chat.news.length = 0;
  await before.close();
}

/** The record of the conversation, including the part before it was resumed. */
export async function recordOf({ session }: Pick<Chat, "session">): Promise<ChatRecord> {
  return await readChatRecord(session.runtime.events());
}

/** Sends a message to the model and shows the outcome. */
export async function say(chat: Chat, text: string): Promise<void> {
  const { session, history, window, news, print, place } = chat;
  chat.isBegun = true;
  const task = { task_id: makeId("task", Date.now()), trace_id: makeTraceId() };
  // `direct` is not a model, so reading files would be useless.
  const isRead = session.provider.wants_all_tools !== true;
  const { text: ownText, images } = isRead ? await attachFiles(text, chat, task) : { text, images: [] };
  const fullText = [...news.splice(0), ownText].join("\n\n");
  const shown = { ...(window === undefined ? {} : { window }), ...(images.length === 0 ? {} : { images }) };
  const outcome = await session.ask({ ...task, text: fullText, history, source: "chat", ...shown });
  remember(chat, outcome);
  await report(outcome, session, print);
  if (print.json) return;
  const { profile } = place.configuration.policy;
  print.note(statusLine({ model: session.provider.name, ...outcome, profile }, print.noteWidth));
}

function remember(chat: Chat, { messages, window, outcome, error }: TaskOutcome): void {
  if (messages !== undefined) chat.history = closed(messages);
  chat.window = window;
  if (outcome !== "completed")
    chat.news.push(`(The task before this ended without an answer: ${error?.message ?? outcome})`);
}

/** Providers require alternating roles and a result for each call, so an interrupted exchange is closed. */
function closed(messages: readonly Message[]): readonly Message[] {
  const last = messages.at(-1);
  const isAsking = last?.role === "assistant" && (last.calls ?? []).length > 0;
  if (last?.role === "assistant" && !isAsking) return messages;
  return [...(isAsking ? messages.slice(0, -1) : messages), { role: "assistant", text: "(Interrupted.)" }];
}
