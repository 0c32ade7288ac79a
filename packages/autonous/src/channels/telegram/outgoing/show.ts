import type { Api } from "grammy";
import type { TelegramClient } from "../api/client.ts";
import { splitText } from "./split-text.ts";
import type { Part } from "./split-text.ts";

/** Nothing in a text is a reason for Telegram to fetch a page and show it. */
export const NO_PREVIEW = { is_disabled: true } as const;

type Sent = Awaited<ReturnType<Api["sendMessage"]>>;

/** One message: text as it is, its code as code. */
export async function sendPart(
  api: Api,
  { chat, part, ...rest }: { readonly chat: number; readonly part: Part } & SendOptions,
  signal: Parameters<Api["sendMessage"]>[3],
): Promise<Sent> {
  const options = { entities: [...part.entities], link_preview_options: NO_PREVIEW, ...rest };
  return await api.sendMessage(chat, part.text, options, signal);
}

type SendOptions = Pick<NonNullable<Parameters<Api["sendMessage"]>[2]>, "reply_markup" | "disable_notification">;

/** Says something that is on no record. */
export function showPlain(client: TelegramClient, chat: number, text: string): void {
  for (const part of splitText(text))
    client.say(chat, "A remark", (api, signal) => sendPart(api, { chat, part }, signal));
}
