import { UsageError } from "../command.ts";
import { listSessions, sessionTable } from "../session/sessions.ts";
import { findConversation, NEW_CONVERSATION, switchTo } from "./conversation.ts";
import type { Chat } from "./conversation.ts";

const SHOWN = 20;

export async function showSessions({ place, session, print }: Chat): Promise<void> {
  const found = await listSessions(place.state_dir, { limit: SHOWN });
  if (print.json) return print.document({ sessions: found });
  if (found.length === 0) return print.note("No sessions in this folder yet");
  const { run_id: current } = session.runtime;
  print.note(sessionTable(found, { width: print.noteWidth, now: Date.now(), current }));
}

/** A new conversation is a new run: the current one stays recorded and can be resumed. */
export async function clear(chat: Chat): Promise<void> {
  const { run_id: before } = chat.session.runtime;
  const hasSaid = chat.history.length > 0;
  await switchTo(chat, NEW_CONVERSATION);
  const { run_id } = chat.session.runtime;
  if (chat.print.json) return chat.print.document({ ok: true, run_id, before: hasSaid ? before : null });
  chat.print.note(hasSaid ? `New conversation. Back to the one before: /resume ${before}` : "New conversation");
}

export async function resume(chat: Chat, id: string): Promise<void> {
  const { place, print, session } = chat;
  if (id === "") {
    await showSessions(chat);
    if (!print.json) print.note("/resume <run> resumes one of them");
    return;
  }
  if (id === session.runtime.run_id) throw new UsageError(`${id} is already the open session`);
  const said = await findConversation(place, id);
  await switchTo(chat, said);
  const messages = said.history.filter(({ role }) => role === "user").length;
  if (print.json) return print.document({ ok: true, run_id: said.run_id, messages });
  print.note(`Resumed ${said.run_id}: ${messages} messages; /undo and /diff include them`);
}

export async function compact(chat: Chat): Promise<void> {
  const { session, history, window, print } = chat;
  if (session.provider.wants_all_tools === true)
    throw new UsageError(`Cannot summarise: "${session.provider.name}" is not a model; choose one with /model`);
  if (history.length === 0 || window?.from === history.length) {
    if (print.json) return print.document({ ok: true, tokens_before: 0, tokens_after: 0 });
    return print.note("Nothing to summarise yet");
  }
  const compacted = await session.compact({ history, ...(window === undefined ? {} : { window }) });
  chat.window = compacted.window;
  const { tokens_before, tokens_after, summary } = compacted;
  if (print.json) return print.document({ ok: true, tokens_before, tokens_after, summary });
  print.note(`Summarised: about ${tokens_before} tokens of conversation became ${tokens_after}`);
}
