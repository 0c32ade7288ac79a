import { openStore } from "../../store/open-store.ts";
import { StoreError } from "../../store/store-error.ts";
import { Access } from "./access/allowed-users.ts";
import { TelegramClient } from "./api/client.ts";
import { TelegramFailure } from "./api/telegram-failure.ts";
import { askForBot, BadToken } from "./channel.ts";
import { readWebhook, webhookProblem } from "./webhook.ts";

export interface TelegramCheck {
  readonly outcome: "ok" | "warning" | "failed";
  readonly message: string;
}

export interface CheckOptions {
  readonly token: string;
  readonly api_root: string;
  readonly allowed_users: readonly number[];
  /** The database of the service, where there is one: it has the people who were let in. */
  readonly file?: string;
}

/** Whether the service can use the bot, by asking Telegram about it. */
export async function checkTelegram(options: CheckOptions): Promise<TelegramCheck> {
  const client = new TelegramClient({ ...options, log: () => undefined });
  try {
    const asked = await askForBot(client);
    if ("problem" in asked) return { outcome: "warning", message: `${asked.problem}; the service keeps trying` };
    const bot = `@${asked.bot.username}`;
    const webhook = await readWebhook(client);
    if (webhook !== undefined) return { outcome: "warning", message: `${bot}: ${webhookProblem(webhook)}` };
    const users = await countUsers(options);
    if (typeof users === "string") return { outcome: "warning", message: `${bot}; ${users}` };
    if (users === 0) return { outcome: "warning", message: `${bot}, no users yet: autonous telegram pair` };
    return { outcome: "ok", message: `${bot}, ${users} user${users === 1 ? "" : "s"}` };
  } catch (error) {
    if (error instanceof BadToken) return { outcome: "failed", message: error.message };
    if (error instanceof TelegramFailure) return { outcome: "warning", message: error.message };
    throw error;
  } finally {
    await client.close(0);
  }
}

/** Or why they cannot be counted. */
async function countUsers({ allowed_users, file }: CheckOptions): Promise<number | string> {
  if (file === undefined) return allowed_users.length;
  try {
    const store = await openStore({ file, clock: Date.now });
    try {
      const access = new Access(allowed_users, store);
      await access.refresh();
      return access.size;
    } finally {
      await store.close();
    }
  } catch (error) {
    if (error instanceof StoreError) return error.message;
    throw error;
  }
}
