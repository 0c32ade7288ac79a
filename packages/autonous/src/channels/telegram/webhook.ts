import type { TelegramClient } from "./api/client.ts";

/**
 * The host of the program that gets this bot's messages by a webhook; undefined where there is none. Only
 * the host: the path of a webhook often holds a secret. Throws `TelegramFailure`.
 */
export async function readWebhook(client: TelegramClient): Promise<string | undefined> {
  const { url = "" } = await client.call((api, signal) => api.getWebhookInfo(signal));
  if (url === "") return undefined;
  return URL.canParse(url) ? new URL(url).host : "another server";
}

/** The service does not delete it by itself: the program behind it would stop getting messages. */
export function webhookProblem(host: string): string {
  return `a webhook sends the messages of this bot to ${host}. Remove it there, or with: autonous telegram webhook --delete`;
}
