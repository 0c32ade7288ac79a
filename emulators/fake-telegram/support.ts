/** For the tests of this folder: a Telegram that ends with the test, and a bot that calls it. */
import { onTestFinished } from "vitest";
import { startFakeTelegram } from "./server.ts";
import type { FakeTelegram, FakeTelegramOptions } from "./server.ts";

export async function open(options: FakeTelegramOptions = {}): Promise<FakeTelegram> {
  const telegram = await startFakeTelegram(options);
  onTestFinished(() => telegram.close());
  return telegram;
}

export interface Answer {
  readonly ok: boolean;
  readonly status: number;
  readonly result?: unknown;
  readonly description?: string;
  readonly parameters?: object;
}

type Bot = Pick<FakeTelegram, "url" | "token">;

export async function call(bot: Bot, method: string, parameters: object = {}): Promise<Answer> {
  return await ask(bot, method, { headers: { "content-type": "application/json" }, body: JSON.stringify(parameters) });
}

/** Files among the values are uploaded. */
export async function upload(
  bot: Bot,
  method: string,
  values: Readonly<Record<string, string | number | File>>,
): Promise<Answer> {
  const body = new FormData();
  for (const [name, value] of Object.entries(values)) body.set(name, typeof value === "number" ? String(value) : value);
  return await ask(bot, method, { body });
}

async function ask({ url, token }: Bot, method: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(`${url}/bot${token}/${method}`, { method: "POST", ...init });
  return { status: response.status, ...((await response.json()) as Omit<Answer, "status">) };
}

export async function updates(bot: Bot, parameters: object = {}): Promise<{ update_id: number }[]> {
  const { result, description } = await call(bot, "getUpdates", parameters);
  if (result === undefined) throw new Error(description);
  return result as { update_id: number }[];
}

export function button(callback_data: string): object {
  return { inline_keyboard: [[{ text: "Go", callback_data }]] };
}
