/** Who writes to the bot: a user of the emulator, a user that the relay plays, or a person at a real phone. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startFakeTelegram } from "../../../emulators/fake-telegram/server.ts";
import { until } from "../../support/service.ts";
import type { Place } from "../../support/service.ts";
import { pressed } from "../../support/telegram.ts";
import { Relay } from "./relay.ts";
import type { SeenMessage } from "./relay.ts";
import type { PersonFile } from "./stage.ts";

export interface Person {
  /** The user, and the chat with the bot. */
  readonly id: number;
  readonly relay: Relay;
  say(text: string, file?: PersonFile): void;
  press(question: SeenMessage, button: string): Promise<void>;
}

/** A Bot API that is not ours. */
export interface OutsideApi {
  readonly api_root: string;
  readonly token: string;
  readonly chat: number;
}

async function openRelay({ onEnd }: Place, options: ConstructorParameters<typeof Relay>[0]): Promise<Relay> {
  const relay = new Relay(options);
  await relay.open();
  onEnd(() => relay.close());
  return relay;
}

const SOMEONE = 42;

export async function inEmulator(place: Place): Promise<Person> {
  const telegram = await startFakeTelegram();
  place.onEnd(() => telegram.close());
  const relay = await openRelay(place, { api_root: telegram.url, token: telegram.token, plays: false });
  return {
    id: SOMEONE,
    relay,
    say(text, file) {
      if (file === undefined) telegram.say({ user: SOMEONE, text });
      else
        telegram.send({ user: SOMEONE, kind: "document", content: file.content, file_name: file.name, caption: text });
    },
    press: async ({ message_id }, button) => void (await pressed(telegram, { user: SOMEONE, message_id, button })),
  };
}

export async function played(place: Place, { api_root, token, chat }: OutsideApi): Promise<Person> {
  const relay = await openRelay(place, { api_root, token, plays: true });
  return {
    id: chat,
    relay,
    say: (text, file) => relay.say(chat, text, file),
    async press({ message_id, buttons }, button) {
      const data = buttons.find(({ text }) => text.startsWith(button))?.callback_data;
      if (data === undefined) throw new Error(`The question has no button "${button}"`);
      for (;;) {
        const press = relay.press(chat, { message_id, data });
        await until(() => relay.answerTo(press) !== undefined, "the press to be answered");
        if (relay.answerTo(press)?.includes("not recorded yet") !== true) return; // else as the person is told to
      }
    },
  };
}

export async function byHand(place: Place, { api_root, token, chat }: OutsideApi): Promise<Person> {
  const relay = await openRelay(place, { api_root, token, plays: false });
  return {
    id: chat,
    relay,
    say(text, file) {
      if (file === undefined) return void process.stdout.write(`\nSend to the bot:\n${text}\n`);
      const path = join(place.path, file.name);
      writeFileSync(path, file.content);
      process.stdout.write(`\nSend the file ${path} to the bot, as a file, with the caption:\n${text}\n`);
    },
    press: (_, button) => Promise.resolve(void process.stdout.write(`Press: ${button}\n`)),
  };
}

/** Why the API cannot be used with this token and chat; undefined where it can. */
export async function problemOf({ api_root, token, chat }: OutsideApi): Promise<string | undefined> {
  const ask = async (
    method: string,
  ): Promise<{ ok?: unknown; description?: unknown; result?: { username?: string } }> => {
    const response = await fetch(`${api_root.replace(/\/+$/, "")}/bot${token}/${method}`, { redirect: "error" });
    return Object(await response.json()) as object;
  };
  try {
    const me = await ask("getMe");
    if (me.ok !== true) return `the Bot API rejects the token: ${String(me.description)}`;
    const there = await ask(`getChat?chat_id=${chat}`);
    if (there.ok === true) return undefined;
    return `the bot cannot write to chat ${chat} (${String(there.description)}); send /start to @${me.result?.username ?? "the bot"} from that account first`;
  } catch (error) {
    const { message, cause } = error as Error;
    return `the Bot API at ${api_root} cannot be reached: ${cause instanceof Error ? cause.message : message}`;
  }
}
