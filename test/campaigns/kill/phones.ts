import { startFakeTelegram } from "../../../emulators/fake-telegram/server.ts";
import type { FakeTelegram } from "../../../emulators/fake-telegram/server.ts";

/** A message that the bot has sent and Telegram has taken. */
interface Arrived {
  readonly chat: string;
  readonly text: string;
  readonly at: number;
}

/** People with Telegram, each in a chat of their own with the bot. */
export interface Phones extends AsyncDisposable {
  readonly settings: Readonly<Record<string, string>>;
  /** The names of the chats. */
  readonly chats: readonly string[];
  say(chat: string, text: string): void;
  /** Presses a button below the newest message that asks for this; false while there is none. */
  press(chat: string, approval_id: string, button: string): boolean;
  /** In the order of their arrival. */
  readonly arrived: readonly Arrived[];
}

const FIRST_USER = 5000;
const USERS = 6;

export async function startPhones(): Promise<Phones> {
  const arrived: Arrived[] = [];
  const telegram: FakeTelegram = await startFakeTelegram({
    onCall({ method, parameters, chat, status }) {
      if (method !== "sendMessage" || status !== 200 || chat === undefined) return;
      arrived.push({ chat: nameOf(chat), text: String(parameters["text"]), at: Date.now() });
    },
  });
  const users = Array.from({ length: USERS }, (_, i) => FIRST_USER + i);
  return {
    settings: {
      AUTONOUS_TELEGRAM_TOKEN: telegram.token,
      AUTONOUS_TELEGRAM_API_ROOT: telegram.url,
      AUTONOUS_TELEGRAM_ALLOWED_USERS: users.join(","),
    },
    chats: users.map(nameOf),
    say: (chat, text) => void telegram.say({ user: userOf(chat), text }),
    press(chat, approval_id, button) {
      const user = userOf(chat);
      const asks = telegram
        .messages(user)
        .findLast(({ buttons }) =>
          buttons.flat().some(({ callback_data = "" }) => callback_data.endsWith(`:${approval_id}`)),
        );
      if (asks === undefined) return false;
      telegram.press({ user, message_id: asks.message_id, button });
      return true;
    },
    arrived,
    [Symbol.asyncDispose]: () => telegram.close(),
  };
}

function nameOf(user: number): string {
  return `t${user}`;
}

function userOf(chat: string): number {
  return Number(chat.slice(1));
}
