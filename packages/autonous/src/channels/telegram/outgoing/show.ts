import { GrammyError } from "grammy";
import type { Api } from "grammy";
import { addressIn, inTopic } from "../address.ts";
import type { Address } from "../address.ts";
import type { TelegramClient } from "../api/client.ts";
import { asItIs } from "./rich-markdown.ts";
import type { RichText } from "./rich-text.ts";
import { splitText } from "./split-text.ts";

/** Nothing in a text is a reason for Telegram to fetch a page and show it. */
export const NO_PREVIEW = { is_disabled: true } as const;

type Sent = Awaited<ReturnType<Api["sendMessage"]>>;

/** One message. Should Telegram not take its formatting, its text goes out all the same. */
export async function sendPart(
  api: Api,
  { to, part, ...rest }: { readonly to: Address; readonly part: RichText } & SendOptions,
  signal: Parameters<Api["sendMessage"]>[3],
): Promise<Sent> {
  const options = { link_preview_options: NO_PREVIEW, ...inTopic(to), ...rest };
  return await withoutRefused([...part.entities], (entities) =>
    api.sendMessage(to.chat, part.text, { ...options, entities }, signal),
  );
}

/** Sends with these entities; where Telegram refuses them, without. */
export async function withoutRefused<Result, Entity>(
  entities: Entity[],
  send: (entities: Entity[]) => Promise<Result>,
): Promise<Result> {
  try {
    return await send(entities);
  } catch (error) {
    const isAboutThem = error instanceof GrammyError && error.error_code === 400 && /entit/i.test(error.description);
    if (!isAboutThem || entities.length === 0) throw error;
    return await send([]);
  }
}

type SendOptions = Pick<
  NonNullable<Parameters<Api["sendMessage"]>[2]>,
  "reply_markup" | "disable_notification" | "reply_parameters"
>;

/** Says something that is on no record. */
export function showPlain(client: TelegramClient, address: Address, text: string): void {
  const to = addressIn(address);
  for (const part of splitText(asItIs(text)))
    client.say(to.chat, "A remark", (api, signal) => sendPart(api, { to, part }, signal));
}
