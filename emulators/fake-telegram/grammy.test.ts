/** The library that the channel uses, against this server: what it sends is understood, and the other way about. */
import { Bot, GrammyError, InlineKeyboard, InputFile } from "grammy";
import { expect, onTestFinished, test } from "vitest";
import { startFakeTelegram } from "./server.ts";
import type { FakeTelegram } from "./server.ts";

async function open(): Promise<{ telegram: FakeTelegram; bot: Bot }> {
  const telegram = await startFakeTelegram();
  const bot = new Bot(telegram.token, { client: { apiRoot: telegram.url } });
  onTestFinished(async () => {
    await bot.stop();
    await telegram.close();
  });
  return { telegram, bot };
}

test("a bot hears, answers, asks by a button, edits and sends a file", async () => {
  const { telegram, bot } = await open();
  bot.command("start", (context) =>
    context.reply("<b>Sure?</b>", { parse_mode: "HTML", reply_markup: new InlineKeyboard().text("Yes", "yes:1") }),
  );
  bot.callbackQuery("yes:1", async (context) => {
    await context.answerCallbackQuery("Done");
    await context.editMessageText("It is done");
    await context.replyWithDocument(new InputFile(Buffer.from("a\r\nb"), "name with spaces ü.txt"), { caption: "see" });
  });
  await bot.api.setMyCommands([{ command: "start", description: "Begin" }]).catch(() => undefined);
  void bot.start({ drop_pending_updates: true });
  await telegram.until(() => telegram.isPolled, "the bot");
  telegram.say({ text: "/start" });
  const asked = await telegram.until(() => telegram.answers()[0], "the question");
  const query = telegram.press({ message_id: asked.message_id, button: "Yes" });
  const [edited, file] = await telegram.until(
    () => (telegram.answers().length === 2 ? telegram.answers() : undefined),
    "the file",
  );
  expect(query.answer).toEqual({ text: "Done", show_alert: false });
  expect(edited).toMatchObject({ text: "It is done", before: ["Sure?"], buttons: [] });
  expect(file).toMatchObject({ text: "see", document: { file_name: "name with spaces ü.txt" } });
  expect(file?.document?.content.toString()).toBe("a\r\nb");
  expect(telegram.commands).toEqual([{ command: "start", description: "Begin" }]);
});

test("refusals come as its errors, with what to wait", async () => {
  const { telegram, bot } = await open();
  telegram.say({ text: "hello" });
  telegram.fault({ kind: "rate_limited", retry_after_s: 7 });
  const refused = async (asked: Promise<unknown>): Promise<GrammyError> =>
    await asked.then(
      () => Promise.reject(new Error("it was taken")),
      (error: unknown) => error as GrammyError,
    );
  const slow = await refused(bot.api.sendMessage(42, "x"));
  expect(slow).toBeInstanceOf(GrammyError);
  expect(slow).toMatchObject({ error_code: 429, parameters: { retry_after: 7 } });
  expect(await refused(bot.api.sendMessage(7, "x"))).toMatchObject({ error_code: 400, description: /chat not found/ });
  const stranger = new Bot("1:wrong", { client: { apiRoot: telegram.url } });
  expect(await refused(stranger.init())).toMatchObject({ error_code: 401 });
});
