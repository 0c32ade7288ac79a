import { isatty } from "node:tty";
import { openSession } from "../session/agent-session.ts";
import { runChatCommand } from "../chat/chat-commands.ts";
import { findConversation, NEW_CONVERSATION, say } from "../chat/chat-conversation.ts";
import type { Chat, Conversation } from "../chat/chat-conversation.ts";
import { messagesOf } from "../chat/typed-messages.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../session/find-workplace.ts";
import type { Workplace } from "../../workplace/workplace.ts";
import { readLimits } from "../options.ts";
import { noteMissingSandbox } from "../output/sandbox-notice.ts";
import { listSessions } from "../session/list-sessions.ts";
import { chooseProvider } from "./run.ts";

/** `autonous chat`: an interactive conversation in the current folder. */
export async function chat(input: CommandInput): Promise<ExitCode> {
  const place = findWorkplace(input);
  const limits = readLimits(input.options, place.configuration.settings);
  const provider = await chooseProvider(input, place);
  const before = await findBefore(place, input);
  await noteMissingSandbox(place, input.print.note);
  // The whole chat is one run, so the scopes "run" and "session" would mean the same.
  const about = { place, provider, limits, scopes: ["session"], taskOf: "chat" } as const;
  const open: Chat["open"] = (run_id) => openSession(input, { ...about, ...(run_id === undefined ? {} : { run_id }) });
  const { history, window } = before;
  const isBegun = before.run_id !== undefined;
  const opened: Chat = {
    ...input,
    place,
    session: await open(before.run_id),
    open,
    history,
    window,
    isBegun,
    news: [],
  };
  try {
    greet(opened);
    return await converse(opened);
  } finally {
    await opened.session.close();
    // However it ends. Without a message, nothing can be resumed.
    if (!input.print.json && opened.isBegun)
      input.print.note(`Resume: autonous chat --resume ${opened.session.runtime.run_id}`);
  }
}

async function findBefore(place: Workplace, { options }: CommandInput): Promise<Conversation> {
  const resume = options["resume"] as string | undefined;
  if (options["continue"] !== true)
    return resume === undefined ? NEW_CONVERSATION : await findConversation(place, resume);
  if (resume !== undefined) throw new UsageError("--continue and --resume both choose a chat; use one of them");
  const [newest] = await listSessions(place.state_dir, { limit: 1, kind: "chat" });
  if (newest === undefined)
    throw new UsageError(
      'No chat to continue in this folder; "autonous chat" starts one, "autonous sessions" lists runs',
    );
  return await findConversation(place, newest.run_id);
}

function greet({ print, session: { provider, runtime }, history }: Chat): void {
  if (!isatty(0)) return;
  const which = history.length > 0 ? `Resumed ${runtime.run_id}, with` : "Chat with";
  print.note(`${which} ${provider.name}. /help lists commands; Ctrl-D exits.`);
}

async function converse(chat: Chat): Promise<ExitCode> {
  const { signal } = chat;
  for await (const typed of messagesOf(chat)) {
    if (typed.kind === "interrupt") return EXIT.interrupted;
    const done = await runChatCommand(chat, typed.text);
    if (done === "end") break;
    if (done === "not a command" && typed.text.trim() !== "") await say(chat, typed.text);
    signal.throwIfAborted();
  }
  return EXIT.done;
}
