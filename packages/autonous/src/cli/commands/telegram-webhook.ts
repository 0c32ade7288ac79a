import { BadToken } from "../../channels/telegram/channel.ts";
import { TelegramFailure } from "../../channels/telegram/api/telegram-failure.ts";
import type { TelegramClient } from "../../channels/telegram/api/client.ts";
import { readWebhook } from "../../channels/telegram/webhook.ts";
import { UsageError } from "../command.ts";
import type { CommandInput } from "../command.ts";
import { EXIT } from "../exit-codes.ts";
import type { ExitCode } from "../exit-codes.ts";
import { findWorkplace } from "../session/find-workplace.ts";
import { withClient } from "../checks/telegram-client.ts";

/** `autonous telegram webhook`. */
export async function webhook(input: CommandInput): Promise<ExitCode> {
  const { options, print } = input;
  const { settings } = findWorkplace(input).configuration;
  if (settings.telegram_token === undefined)
    throw new UsageError("Cannot ask Telegram: AUTONOUS_TELEGRAM_TOKEN is not set. Set it to the service's token");
  try {
    const found = await withClient(settings, (client) => inspectWebhook(client, options["delete"] === true));
    if (print.json) print.document(found);
    else print.text(describeWebhook(found));
    return EXIT.done;
  } catch (error) {
    if (!(error instanceof TelegramFailure)) throw error;
    const why = error.kind === "bad_token" ? new BadToken().message : error.message;
    print.note(`Cannot read or delete the webhook: ${why}`);
    return EXIT.failed;
  }
}

interface WebhookState {
  /** The host that receives the messages. */
  readonly host: string | null;
  readonly deleted: boolean;
}

/** Keeps pending updates: the service receives them. */
async function inspectWebhook(client: TelegramClient, isToBeDeleted: boolean): Promise<WebhookState> {
  const host = await readWebhook(client);
  const deleted = host !== undefined && isToBeDeleted;
  if (deleted) await client.call((api, signal) => api.deleteWebhook({ drop_pending_updates: false }, signal));
  return { host: host ?? null, deleted };
}

function describeWebhook({ host, deleted }: WebhookState): string {
  if (host === null) return "No webhook is set: the service gets the messages";
  if (deleted) return `Deleted the webhook to ${host}: the service gets the messages now`;
  return `A webhook sends the bot's messages to ${host}. Delete it: autonous telegram webhook --delete`;
}
