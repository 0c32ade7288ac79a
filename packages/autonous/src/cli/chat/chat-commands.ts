import { ToolError } from "@autonous/runtime";
import { createProvider } from "../../model/choose.ts";
import { showResult } from "../show-result.ts";
import type { Chat } from "./conversation.ts";

interface ChatCommand {
  readonly meaning: string;
  run(chat: Chat, rest: string): Promise<"end" | void>;
}

/** What is done here and not told to the model. */
// oxfmt-ignore
const COMMANDS: Readonly<Record<string, ChatCommand>> = {
  "/help":      { meaning: "shows this",                                             run: showHelp },
  "/exit":      { meaning: "ends the chat; so does Ctrl-D",                           run: async () => "end" },
  "/model":     { meaning: "shows who answers; /model <name> asks another from here on", run: changeModel },
  "/undo":      { meaning: "takes back what the last message changed; again, the one before", run: undoLast },
  "/approvals": { meaning: "shows what was allowed for the rest of this chat",        run: showGrants },
};

/** Does what a line that begins with the name of a command asks for. */
export async function runChatCommand(chat: Chat, text: string): Promise<"end" | "done" | "not a command"> {
  const [word = "", ...rest] = text.trimEnd().split(/\s+/); // a space before it makes a message of it
  const command = Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : undefined;
  if (command !== undefined) return (await command.run(chat, rest.join(" "))) ?? "done";
  if (!word.startsWith("/") || chat.session.provider.name === "direct") return "not a command";
  chat.print.note(`There is no command ${word}; /help shows them. With a space before it, it is a message.`);
  return "done";
}

async function showHelp({ print }: Chat): Promise<void> {
  const lines = Object.entries(COMMANDS).map(([name, { meaning }]) => `${name.padEnd(11)} ${meaning}`);
  const keys = [
    "A line that ends in \\ goes on on the next one. Pasted lines are sent with an empty line.",
    "Ctrl-C stops the call that is under way, then the task; at an empty line, twice, the chat.",
  ];
  print.note([...lines, ...keys].join("\n"));
}

async function changeModel(chat: Chat, name: string): Promise<void> {
  const { session, print } = chat;
  try {
    if (name !== "") {
      session.provider = await createProvider(name);
      chat.window = undefined; // it may have room for more, or for less
    }
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    print.note(error.message);
  }
  print.note(`${session.provider.name} answers`);
}

async function undoLast({ session, changes, news, print, signal }: Chat): Promise<void> {
  const undo_ids = changes.pop();
  if (undo_ids === undefined) return print.note("There is nothing to take back: no message changed a file by a tool");
  const files = new Set<string>();
  for (const undo_id of undo_ids.toReversed()) {
    const result = await session.runtime.undo(undo_id, { signal });
    if (print.json) print.document(result);
    else showResult(result, print);
    if (result.error !== null) break;
    for (const file of result.artifacts.files_changed) files.add(file);
  }
  if (files.size > 0) news.push(`(I took your last changes back: ${[...files].join(", ")})`);
}

async function showGrants({ session, print }: Chat): Promise<void> {
  const { run_id, approvals } = session.runtime;
  const grants = await approvals.grants({ run_id, session: run_id });
  if (print.json) return print.document(grants);
  if (grants.length === 0) return print.note("Nothing was allowed beyond a single call");
  print.note(grants.map(({ grant_id, words }) => `${grant_id}  ${words}`).join("\n"));
  print.note("autonous approvals revoke <grant> takes one back");
}
