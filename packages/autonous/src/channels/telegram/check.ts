import { askForBot, BadToken } from "./channel.ts";
import { TelegramClient } from "./api/client.ts";

export interface TelegramCheck {
  readonly outcome: "ok" | "warning" | "failed";
  readonly message: string;
}

/** Whether the bot can be spoken for, by asking Telegram who it is. */
export async function checkTelegram(options: {
  readonly token: string;
  readonly api_root: string;
  readonly allowed_users: readonly number[];
}): Promise<TelegramCheck> {
  const client = new TelegramClient({ ...options, log: () => undefined });
  const { length } = options.allowed_users;
  try {
    const asked = await askForBot(client);
    if ("problem" in asked) return { outcome: "warning", message: `${asked.problem}; it is tried until it can be` };
    const bot = `@${asked.bot.username}`;
    if (length === 0) return { outcome: "warning", message: `${bot}, for nobody: set AUTONOUS_TELEGRAM_ALLOWED_USERS` };
    return { outcome: "ok", message: `${bot}, for ${length} user${length === 1 ? "" : "s"}` };
  } catch (error) {
    if (error instanceof BadToken) return { outcome: "failed", message: error.message };
    throw error;
  } finally {
    await client.close(0);
  }
}
