import type { AllowedUsers } from "../access/allowed-users.ts";
import type { TelegramClient } from "../api/client.ts";
import { TelegramFailure } from "../api/telegram-failure.ts";
import type { Pressed } from "../incoming/read-update.ts";
import { cut } from "./short-text.ts";

/** What the person who pressed a button is shown. */
export interface PressAnswer {
  readonly text: string;
  readonly isAlert: boolean;
}

interface PressParts {
  readonly client: TelegramClient;
  readonly allowed: AllowedUsers;
}

/** What Telegram shows of it. */
const TELLING_LIMIT = 200;
/** What is said next in the chat waits for it, and Telegram does not take it much later. */
const TELLING_WAIT_MS = 10_000;

export async function tellPressed(
  { query_id, on, user }: Pressed,
  { text, isAlert }: PressAnswer,
  { client, allowed }: PressParts,
): Promise<void> {
  const told = { text: cut(text, TELLING_LIMIT), show_alert: isAlert };
  const work: Parameters<TelegramClient["call"]>[0] = (api, signal) => api.answerCallbackQuery(query_id, told, signal);
  try {
    await client.call(work);
  } catch (error) {
    if (!(error instanceof TelegramFailure)) throw error;
    // One that is too old cannot be answered any more; what it did stands in the message.
    const isSoon = (error.retryAfterMs ?? 0) <= TELLING_WAIT_MS;
    const mayHelp = isSoon && (error.kind === "busy" || error.kind === "unreachable");
    // A stranger may not keep others in the chat waiting.
    if (mayHelp && allowed.has(user)) client.say(on?.chat ?? user, "The answer to a button", work);
  }
}
