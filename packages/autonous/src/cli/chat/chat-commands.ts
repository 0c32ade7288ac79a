import { ToolError } from "@autonous/runtime";
import { nearestNames } from "@autonous/runtime/internal";
import { UsageError } from "../command.ts";
import { showDiff, undoLast } from "./change-commands.ts";
import type { Chat } from "./conversation.ts";
import { clear, compact, resume, showSessions } from "./session-commands.ts";
import { changeModel, showCost, showGrants, showTools } from "./show-commands.ts";

interface ChatCommand {
  /** The argument that may follow the name. */
  readonly takes?: string;
  readonly meaning: string;
  run(chat: Chat, rest: string): Promise<"end" | void>;
}

/** Commands handled by the chat and not sent to the model. */
// oxfmt-ignore
const COMMANDS: Readonly<Record<string, ChatCommand>> = {
  "/help":      {                   meaning: "show this",                                       run: showHelp },
  "/clear":     {                   meaning: "start a new conversation; this one stays on record", run: clear },
  "/compact":   {                   meaning: "summarise the conversation so far, to make room", run: compact },
  "/cost":      {                   meaning: "show tokens and cost of this chat",               run: showCost },
  "/model":     { takes: "[name]",  meaning: "show which model answers, or change it",          run: changeModel },
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

const LONGEST_WORD = 60;

function unknownCommand(word: string): string {
  const [nearest] = nearestNames(word, CHAT_COMMANDS);
  const meant = nearest === undefined ? "" : `did you mean ${nearest}? `;
  const shown = word.slice(0, LONGEST_WORD).toWellFormed();
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
