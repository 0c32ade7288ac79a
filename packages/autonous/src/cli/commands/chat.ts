import { isatty } from "node:tty";
import { ToolError } from "@autonous/runtime";
import { openKeyboard } from "../../channels/terminal/keyboard.ts";
import type { TypedMessage } from "../../channels/terminal/read-message.ts";
import { createProvider } from "../../model/choose.ts";
import type { Message } from "../../model/provider.ts";
import { openSession } from "../agent-session.ts";
import type { AgentSession, Asked } from "../agent-session.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../open-runtime.ts";
import type { Workplace } from "../open-runtime.ts";
import { readLimits } from "../options.ts";
import { findRecordedRun, historyOf } from "../recorded-tasks.ts";
import { noteMissingSandbox } from "../sandbox-notice.ts";
import { pipedLines } from "../standard-input.ts";
import { usageText } from "../usage.ts";
import { showResult } from "./call.ts";
import { chooseProvider, report } from "./run.ts";

/** A conversation: one run, in which each message is a task. */
interface Chat extends CommandInput {
  readonly session: AgentSession;
  history: readonly Message[];
  /** How the model saw it at last. */
  window?: Asked["window"];
  /** Of each message that changed something: how to take that back. */
  readonly changes: (readonly string[])[];
  /** What the model is to be told with the next message. */
  readonly news: string[];
}

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

interface Before {
  readonly run_id?: string;
  readonly history: readonly Message[];
}

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
    const { text } = typed;
    const [word = "", ...rest] = text.trimEnd().split(/\s+/); // a space before it makes a message of it
    const command = Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : undefined;
    if (command !== undefined) {
      if ((await command.run(chat, rest.join(" "))) === "end") break;
    } else if (word.startsWith("/") && session.provider.name !== "direct") {
      print.note(`There is no command ${word}; /help shows them. With a space before it, it is a message.`);
    } else if (text.trim() !== "") await say(chat, text);
    signal.throwIfAborted();
  }
  if (!print.json && chat.history.length > 0)
    print.note(`To go on with it: autonous chat --resume ${session.runtime.run_id}`);
  return EXIT.done;
}

async function say(chat: Chat, text: string): Promise<void> {
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

type Given = Exclude<TypedMessage, { readonly kind: "end" }>;

/** What somebody types, or what is piped in, one message a line; `interrupt`: that they want no more. */
async function* messagesOf({ signal, print }: Chat): AsyncIterable<Given> {
  if (!isatty(0)) {
    for await (const text of pipedLines(signal)) yield { kind: "message", text };
    return;
  }
  const history: string[] = [];
  let wasInterrupted = false;
  for (;;) {
    const keyboard = openKeyboard();
    if (keyboard === undefined) throw new UsageError("The terminal cannot be opened; pipe messages in, one a line");
    // Closed before the message is dealt with: questions are asked at the same terminal.
    const typed = await keyboard.readMessage({ prompt: "> ", history, signal }).finally(() => keyboard.close());
    if (typed.kind === "end") return print.note("");
    if (typed.kind === "interrupt") {
      print.note("");
      if (wasInterrupted) return yield typed;
      print.note("Ctrl-C again, Ctrl-D or /exit ends the chat");
    }
    wasInterrupted = typed.kind === "interrupt";
    if (typed.kind === "message") yield typed;
  }
}

interface LocalCommand {
  readonly meaning: string;
  run(chat: Chat, rest: string): Promise<"end" | void>;
}

/** What is done here and not told to the model. */
// oxfmt-ignore
const COMMANDS: Readonly<Record<string, LocalCommand>> = {
  "/help":      { meaning: "shows this",                                             run: showHelp },
  "/exit":      { meaning: "ends the chat; so does Ctrl-D",                           run: async () => "end" },
  "/model":     { meaning: "shows who answers; /model <name> asks another from here on", run: changeModel },
  "/undo":      { meaning: "takes back what the last message changed; again, the one before", run: undoLast },
  "/approvals": { meaning: "shows what was allowed for the rest of this chat",        run: showGrants },
};

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
