import { isatty } from "node:tty";
import { openSession } from "../agent-session.ts";
import type { AgentSession } from "../agent-session.ts";
import { runChatCommand } from "../chat/chat-commands.ts";
import { say } from "../chat/conversation.ts";
import type { Chat } from "../chat/conversation.ts";
import { messagesOf } from "../chat/typed-messages.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../open-runtime.ts";
import type { Workplace } from "../open-runtime.ts";
import { readLimits } from "../options.ts";
import { findRecordedRun, historyOf } from "../recorded-tasks.ts";
import { noteMissingSandbox } from "../sandbox-notice.ts";
import { chooseProvider } from "./run.ts";

/** `autonous chat`: one task after the other in the current folder, each knowing of those before. */
export async function chat(input: CommandInput): Promise<ExitCode> {
  const place = findWorkplace(input);
  const limits = readLimits(input.options, place.configuration.settings);
  const provider = await chooseProvider(input, place);
  const before = await findBefore(place, input.options["resume"] as string | undefined);
  // The whole chat is one run: a yes for the session and one for the run would be the same.
  const { run_id } = before;
  await noteMissingSandbox(place, input.print.note);
  const about = { place, provider, limits, scopes: ["session"], firstStops: "task" } as const;
  const session = await openSession(input, { ...about, ...(run_id === undefined ? {} : { run_id }) });
  try {
    greet(input, session, before.history.length > 0);
    return await converse({ ...input, session, history: before.history, changes: [], news: [] });
  } finally {
    await session.close();
  }
}

type Before = Pick<Chat, "history"> & { readonly run_id?: string };

async function findBefore({ state_dir }: Workplace, resume: string | undefined): Promise<Before> {
  if (resume === undefined) return { history: [] };
  const { run_id, tasks } = await findRecordedRun(state_dir, resume);
  return { run_id, history: historyOf(tasks) };
}

function greet({ print }: CommandInput, { provider, runtime }: AgentSession, isResumed: boolean): void {
  if (!isatty(0)) return;
  const which = isResumed ? `Going on with ${runtime.run_id}, with` : "Talking to";
  print.note(`${which} ${provider.name}. /help shows what can be typed; Ctrl-D ends.`);
}

async function converse(chat: Chat): Promise<ExitCode> {
  const { session, signal, print } = chat;
  for await (const typed of messagesOf(chat)) {
    if (typed.kind === "interrupt") return EXIT.interrupted;
    const done = await runChatCommand(chat, typed.text);
    if (done === "end") break;
    if (done === "not a command" && typed.text.trim() !== "") await say(chat, typed.text);
    signal.throwIfAborted();
  }
  if (!print.json && chat.history.length > 0)
    print.note(`To go on with it: autonous chat --resume ${session.runtime.run_id}`);
  return EXIT.done;
}
