import { ToolError } from "@autonous/runtime";
import { nearestNames } from "@autonous/runtime/internal";
import { UsageError } from "../command.ts";
import type { Chat } from "./chat-conversation.ts";
import { diffLines } from "../../channels/terminal/diff-lines.ts";
import { moreLines } from "../../channels/terminal/command-output.ts";
import { stderrScreen } from "../session/approver.ts";
import { showResult } from "../output/show-result.ts";
import { count, costText } from "../usage.ts";
import type { MessageChanges, ModelUse } from "./chat-record.ts";
import { recordOf, findConversation, NEW_CONVERSATION, switchTo } from "./chat-conversation.ts";
import { listSessions, sessionTable } from "../session/list-sessions.ts";
import { priceSource, sourceText } from "../../model/prices/prices.ts";
import { providerOf } from "../../workplace/model-requests.ts";
import { toolTable } from "../commands/tools.ts";
import { table } from "../output/table.ts";
import { totalUse } from "./chat-record.ts";

interface ChatCommand {
  /** The argument that may follow the name. */
  readonly takes?: string;
  readonly meaning: string;
  run(chat: Chat, rest: string): Promise<"end" | void>;
}

/** Commands handled by the chat and not sent to the model. */
// oxfmt-ignore
const COMMANDS: Readonly<Record<string, ChatCommand>> = {
  "/help":      {                   meaning: "show this help",                                       run: showHelp },
  "/clear":     {                   meaning: "start a new conversation; this one stays on record", run: clear },
  "/compact":   {                   meaning: "summarise the conversation so far, to make room", run: compact },
  "/cost":      {                   meaning: "show tokens and cost of this chat",               run: showCost },
  "/model":     { takes: "[name]",  meaning: "show the model, or change it",          run: changeModel },
  "/tools":     {                   meaning: "show the tools that the model may call",          run: showTools },
  "/undo":      {                   meaning: "undo what the last message changed; again: the one before", run: undoLast },
  "/diff":      { takes: "[last]",  meaning: "show what this chat, or the last message, changed", run: showDiff },
  "/sessions":  {                   meaning: "list the sessions of this folder",                run: showSessions },
  "/resume":    { takes: "[run]",   meaning: "resume another session",                          run: resume },
  "/approvals": {                   meaning: "show what was allowed for the rest of this chat", run: showGrants },
  "/exit":      {                   meaning: "end the chat; so does Ctrl-D",                    run: async () => "end" },
};

export const CHAT_COMMANDS: readonly string[] = Object.keys(COMMANDS);

/** Runs a line that begins with a command. An error of a command does not end the chat. */
export async function runChatCommand(chat: Chat, text: string): Promise<"end" | "done" | "not a command"> {
  const [word = "", ...rest] = text.trimEnd().split(/\s+/); // with a leading space it is a message
  const command = Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : undefined;
  if (command === undefined) {
    if (!word.startsWith("/") || chat.session.provider.name === "direct") return "not a command";
    refuse(chat, unknownCommand(word));
    return "done";
  }
  try {
    return (await command.run(chat, rest.join(" "))) ?? "done";
  } catch (error) {
    if (!(error instanceof ToolError || error instanceof UsageError)) throw error;
    chat.signal.throwIfAborted();
    refuse(chat, error.message);
    return "done";
  }
}

function refuse({ print }: Chat, message: string): void {
  if (print.json) print.document({ ok: false, error: { message } });
  else print.note(message);
}

const MAX_WORD_LENGTH = 60;

function unknownCommand(word: string): string {
  const [nearest] = nearestNames(word, CHAT_COMMANDS);
  const meant = nearest === undefined ? "" : `did you mean ${nearest}? `;
  const shown = word.slice(0, MAX_WORD_LENGTH).toWellFormed();
  return `Unknown command ${shown}; ${meant}/help lists all. With a space in front it is sent as a message.`;
}

async function showHelp({ print }: Chat): Promise<void> {
  const rows = Object.entries(COMMANDS).map(([name, { takes, meaning }]) => ({
    command: takes === undefined ? name : `${name} ${takes}`,
    meaning,
  }));
  if (print.json) return print.document({ commands: rows });
  const keys = [
    "@file attaches a file, or a picture; Tab completes commands and files.",
    "A line that ends in \\ continues on the next one. Pasted lines are one message.",
    "Ctrl-C stops the call that is running, then the task; at an empty line, twice,",
    "the chat.",
  ];
  print.note([...rows.map(({ command, meaning }) => `${command.padEnd(15)} ${meaning}`), ...keys].join("\n"));
}

/** Undoes the changes of the latest message that has any left, also from before a resume. */
async function undoLast(chat: Chat): Promise<void> {
  const { session, news, print, signal } = chat;
  const last = await lastChanges(chat);
  if (last === undefined) {
    if (print.json) return print.document({ ok: true, undone: [] });
    return print.note("Nothing to undo: no message of this chat has changed a file");
  }
  const files = new Set<string>();
  for (const undo_id of last.undo_ids.toReversed()) {
    const result = await session.runtime.undo(undo_id, { signal });
    if (print.json) print.document(result);
    else showResult(result, print);
    if (result.error !== null) break;
    for (const file of result.artifacts.files_changed) files.add(file);
  }
  if (files.size > 0) news.push(`(I undid your last changes: ${[...files].join(", ")})`);
}

async function lastChanges(chat: Chat): Promise<MessageChanges | undefined> {
  return (await recordOf(chat)).changes.at(-1);
}

/** A few screens; the files have the rest. */
const MAX_LINES = 200;

async function showDiff(chat: Chat, which: string): Promise<void> {
  const { session, print, signal } = chat;
  if (which !== "" && which !== "last") throw new UsageError(`Unknown argument "${which}" for /diff; it takes "last"`);
  const only = which === "last" ? { undo_ids: (await lastChanges(chat))?.undo_ids ?? [] } : {};
  const changes = await session.runtime.changes({ signal, ...only });
  if (print.json) return print.document({ changes });
  if (changes.length === 0) return print.note("No changes: every file is as it was before");
  const text = changes.map(({ path, diff }) => (/^(?:---|diff )/.test(diff) ? diff : `${path}: ${diff}`)).join("");
  const { lines, more } = diffLines(text, { screen: stderrScreen(), width: print.noteWidth ?? 200, most: MAX_LINES });
  stderrScreen().print(lines);
  const cut = changes.filter(({ truncated }) => truncated).length;
  const missing = [...(more > 0 ? [moreLines(more)] : []), ...(cut > 0 ? [`${count(cut, "file")} shown in part`] : [])];
  if (missing.length > 0) print.note(`[truncated: ${missing.join("; ")}]`);
}

const SHOWN = 20;

async function showSessions({ place, session, print }: Chat): Promise<void> {
  const found = await listSessions(place.state_dir, { limit: SHOWN });
  if (print.json) return print.document({ sessions: found });
  if (found.length === 0) return print.note("No sessions in this folder yet");
  const { run_id: current } = session.runtime;
  print.note(sessionTable(found, { width: print.noteWidth, now: Date.now(), current }));
}

/** A new conversation is a new run: the current one stays recorded and can be resumed. */
async function clear(chat: Chat): Promise<void> {
  const { run_id: before } = chat.session.runtime;
  const hasSaid = chat.history.length > 0;
  await switchTo(chat, NEW_CONVERSATION);
  const { run_id } = chat.session.runtime;
  if (chat.print.json) return chat.print.document({ ok: true, run_id, before: hasSaid ? before : null });
  chat.print.note(hasSaid ? `New conversation. Back to the one before: /resume ${before}` : "New conversation");
}

async function resume(chat: Chat, id: string): Promise<void> {
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

async function compact(chat: Chat): Promise<void> {
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

async function changeModel(chat: Chat, name: string): Promise<void> {
  const { session, print, place } = chat;
  if (name !== "") {
    session.provider = await providerOf(place.configuration, name);
  }
  const { name: model, fallbacks = [] } = session.provider;
  const others = fallbacks.map((each) => each.name);
  if (print.json) return print.document({ ok: true, model, ...(others.length === 0 ? {} : { fallbacks: others }) });
  print.note(`Model: ${model}${others.length === 0 ? "" : `; fallback: ${others.join(", ")}`}`);
}

async function showTools({ session, print }: Chat): Promise<void> {
  const offered = session.runtime.tools();
  if (print.json) return print.document({ tools: offered });
  print.note(toolTable(offered, print.noteWidth));
}

async function showCost(chat: Chat): Promise<void> {
  const { print, session, place } = chat;
  const { models, messages } = await recordOf(chat);
  const total = totalUse(models);
  const { prices } = place.configuration;
  if (print.json) {
    const priced = models.map((use) => ({ ...use, price: priceSource(use.model, prices) ?? null }));
    return print.document({ run_id: session.runtime.run_id, messages, ...total, models: priced });
  }
  if (models.length === 0) return print.note("No model was asked in this chat yet");
  const rows = models.map(rowOf);
  const all = models.length > 1 ? [rowOf({ model: "all", ...total })] : [];
  const head = ["COST", "TOKENS IN", "FROM CACHE", "OUT", "MODEL"];
  print.note(table([head, ...rows, ...all], { width: print.noteWidth }));
  for (const { model } of models) print.note(`${model}: ${sourceText(priceSource(model, prices))}`);
}

function rowOf({ model, input_tokens, cached_input_tokens, output_tokens, cost, estimated }: ModelUse): string[] {
  const about = estimated ? "about " : "";
  return [costText(cost), `${about}${input_tokens}`, String(cached_input_tokens), `${about}${output_tokens}`, model];
}

async function showGrants({ session, print }: Chat): Promise<void> {
  const { run_id, approvals } = session.runtime;
  const grants = await approvals.grants({ run_id, session: run_id });
  if (print.json) return print.document({ grants });
  if (grants.length === 0) return print.note("Nothing was allowed beyond a single call");
  print.note(grants.map(({ grant_id, words }) => `${grant_id}  ${words}`).join("\n"));
  print.note("Revoke one: autonous approvals revoke <grant>");
}
