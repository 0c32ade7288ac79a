import type { TelegramClient } from "../api/client.ts";
import { addressIn } from "../address.ts";
import type { Address } from "../address.ts";
import { sendPart } from "../outgoing/show.ts";

/** A short silent line that is not recorded. */
export function tellQuietly(client: TelegramClient, address: Address, text: string): void {
  const to = addressIn(address);
  client.say(to.chat, "A notice", (api, signal) =>
    sendPart(api, { to, part: { text, entities: [] }, disable_notification: true }, signal),
  );
}
