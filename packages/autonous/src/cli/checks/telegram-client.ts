import { TelegramClient } from "../../channels/telegram/api/client.ts";
import { askForBot } from "../../channels/telegram/channel.ts";
import type { Settings } from "../../config/settings.ts";

type BotSettings = Pick<Settings, "telegram_token" | "telegram_api_root">;

/** Calls the Telegram API outside of the service. */
export async function withClient<T>(
  { telegram_token: token = "", telegram_api_root: api_root }: BotSettings,
  work: (client: TelegramClient) => Promise<T>,
): Promise<T> {
  const client = new TelegramClient({ token, api_root, log: () => undefined });
  try {
    return await work(client);
  } finally {
    await client.close(0);
  }
}

/** Undefined if Telegram cannot be reached. Throws `BadToken`. */
export async function findBotName(settings: BotSettings): Promise<string | undefined> {
  return await withClient(settings, async (client) => {
    const asked = await askForBot(client);
    return "bot" in asked ? asked.bot.username : undefined;
  });
}
