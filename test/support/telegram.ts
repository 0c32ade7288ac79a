/** The service with a Telegram of our own. */
import type { RuntimeEvent } from "@autonous/runtime";
import { startFakeTelegram } from "../../emulators/fake-telegram/server.ts";
import type { ChatMessage, FakeTelegram, FakeTelegramOptions } from "../../emulators/fake-telegram/server.ts";
import { startService, until } from "./service.ts";
import type { Place, Served } from "./service.ts";

/** Who may speak with the bot in tests. */
export const ADA = 42;
export const BOB = 7;

export async function openTelegram({ onEnd }: Place, options: FakeTelegramOptions = {}): Promise<FakeTelegram> {
  // The bot gets all that is said in groups: what it leaves out, it leaves out by itself.
  const telegram = await startFakeTelegram({ privacy: false, ...options });
  onEnd(() => telegram.close());
  return telegram;
}

export function variablesFor({ url, token }: FakeTelegram): Record<string, string> {
  return {
    AUTONOUS_TELEGRAM_API_ROOT: url,
    AUTONOUS_TELEGRAM_TOKEN: token,
    AUTONOUS_TELEGRAM_ALLOWED_USERS: `${ADA},${BOB}`,
  };
}

/** Starts the service as a bot and waits until it listens there. */
export async function startBot(
  place: Place,
  telegram: FakeTelegram,
  environment: Readonly<Record<string, string | undefined>> = {},
): Promise<Served> {
  const given = Object.entries({ ...variablesFor(telegram), ...environment });
  const set = given.filter((each): each is [string, string] => each[1] !== undefined);
  const service = await startService(place, { environment: Object.fromEntries(set) });
  await telegram.until(() => telegram.isPolled, "the bot to listen");
  return service;
}

/** What the bot said in a chat, once it is so much: without progress, and questions about people without access. */
export async function answersOf(telegram: FakeTelegram, count: number, chat = ADA): Promise<readonly ChatMessage[]> {
  return await telegram.until(() => {
    const said = telegram
      .answers(chat)
      .filter(({ text }) => !/^(?:Working|Queued)/.test(text) && !text.includes("Let them in?"));
    return said.length >= count && said;
  }, `${count} answers in chat ${chat}`);
}

/** The question with buttons that stands last in a chat. */
export async function questionIn(
  telegram: FakeTelegram,
  chat = ADA,
  except: readonly number[] = [],
): Promise<ChatMessage> {
  const isOpen = ({ buttons, message_id }: ChatMessage): boolean => buttons.length > 0 && !except.includes(message_id);
  return await telegram.until(() => telegram.answers(chat).findLast(isOpen), `a question in chat ${chat}`);
}

/** Presses a button and gives what the person is shown. Again, as they are told to, where the question came a moment ago. */
export async function pressed(telegram: FakeTelegram, pressing: Parameters<FakeTelegram["press"]>[0]): Promise<string> {
  for (;;) {
    const query = telegram.press(pressing);
    const { text } = await telegram.until(() => query.answer, "the press to be answered");
    if (!text.includes("not recorded yet")) return text;
  }
}

export interface ListedTask {
  readonly task_id: string;
  readonly text: string;
  readonly state: string;
}

/** Oldest first. */
export async function tasksOf(service: Served): Promise<readonly ListedTask[]> {
  const { tasks } = (await (await service.request("/api/tasks?limit=100")).json()) as { tasks: readonly ListedTask[] };
  return tasks.toReversed();
}

/** Every answer is sent, and recorded as sent: a service that is killed now must not send any of them again. */
export async function allSent(service: Served): Promise<void> {
  await until(async () => {
    const details = (await tasksOf(service)).map(({ task_id }) => service.request(`/api/tasks/${task_id}`));
    const found = await Promise.all(
      details.map(async (each) => (await (await each).json()) as { reply_sent_at: unknown }),
    );
    return found.every(({ reply_sent_at }) => reply_sent_at !== null);
  }, "every answer to be sent");
}

/** The events of the task that came of this message, when it is over. */
export async function eventsOf(service: Served, text: string): Promise<readonly RuntimeEvent[]> {
  let task: ListedTask | undefined;
  await until(async () => {
    const tasks = await tasksOf(service);
    // Files that came with it are named behind its words.
    task = tasks.findLast((each) => each.text === text) ?? tasks.findLast((each) => each.text.startsWith(`${text}\n`));
    return task !== undefined;
  }, `the task "${text}"`);
  return (await service.follow(task?.task_id ?? "")).events;
}
