import type { Api } from "grammy";
import { addressIn, inTopic } from "../address.ts";
import type { Address } from "../address.ts";
import type { TelegramClient } from "../api/client.ts";
import { splitText } from "./split-text.ts";
import type { Part } from "./split-text.ts";

/** Nothing in a text is a reason for Telegram to fetch a page and show it. */
export const NO_PREVIEW = { is_disabled: true } as const;

type Sent = Awaited<ReturnType<Api["sendMessage"]>>;

/** One message: text as it is, its code as code. */
export async function sendPart(
  api: Api,
  { to, part, ...rest }: { readonly to: Address; readonly part: Part } & SendOptions,
  signal: Parameters<Api["sendMessage"]>[3],
): Promise<Sent> {
  const options = { entities: [...part.entities], link_preview_options: NO_PREVIEW, ...inTopic(to), ...rest };
  return await api.sendMessage(to.chat, part.text, options, signal);
}

type SendOptions = Pick<NonNullable<Parameters<Api["sendMessage"]>[2]>, "reply_markup" | "disable_notification">;

/** Says something that is on no record. */
export function showPlain(client: TelegramClient, address: Address, text: string): void {
  const to = addressIn(address);
  for (const part of splitText(text))
    client.say(to.chat, "A remark", (api, signal) => sendPart(api, { to, part }, signal));
}
