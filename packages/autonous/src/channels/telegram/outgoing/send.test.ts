import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { REDACTION_MARKER } from "@autonous/runtime/internal";
import { expect, test } from "vitest";
import { ADA, scratchPlace } from "../../../../../../test/support/telegram-channel.ts";
import type { Place } from "../../../../../../test/support/telegram-channel.ts";
import { greyPng } from "../../../../../../emulators/fake-telegram/media/images.ts";
import { TELEGRAM_LIMITS } from "../../../../../../emulators/fake-telegram/server.ts";
import { DeliveryError } from "../../../queue/outbox-sender.ts";
import type { Outgoing, OutboxRow, Store } from "../../../store/store.ts";
import { TelegramClient } from "../api/client.ts";
import { Questions } from "../talk/questions.ts";
import { RateLimit } from "../api/rate-limit.ts";
import { createOutboxSender } from "./send.ts";
import { sendPart } from "./show.ts";

const FREE = new RateLimit({ chatMs: 0, groupMs: 0, anyMs: 0 });

function rowOf(content: Outgoing, given: Partial<OutboxRow> = {}): OutboxRow {
  return {
    id: 1,
    task_id: "tsk_1",
    run_id: "run_1",
    channel: "telegram",
    chat: "telegram:42",
    content,
    attempts: 0,
    created_at: 0,
    ...given,
  };
}

const clientOf = ({ telegram: { token, url } }: Place): TelegramClient =>
  new TelegramClient({ token, api_root: url, log: () => undefined, rate: FREE });

const said = ({ telegram }: Place): readonly string[] => telegram.answers().map(({ text }) => text);

async function known(): Promise<Place> {
  const place = await scratchPlace();
  place.telegram.say({ text: "hello" }); // who has never written cannot be written to
  return place;
}

test("what no model wrote goes out as it is, whatever it looks like", async () => {
  const place = await known();
  const { sender } = await place.open();
  const texts = ["*not bold* _a_b <b>& [x](y) `z`", "\u0000\ud800 half", "", "a\n```js\nlet b;\n```", "x\u202ey"];
  for (const text of texts) await sender.send(rowOf({ kind: "text", text }));
  expect(said(place)).toEqual([texts[0], "\\0\ufffd half", "The answer is empty.", texts[3], "x\\u{202e}y"]);
  expect(place.telegram.answers().flatMap(({ entities }) => entities)).toEqual([]);
});

test("the answer of a model is Markdown and replies to its question, in its first message only", async () => {
  const place = await scratchPlace();
  await place.open();
  const question = place.telegram.say({ text: "what is there?" });
  await place.answer(`**a** b_c_d\n\n${"word ".repeat(1200)}`, "test:model");
  await place.telegram.until(() => place.telegram.answers().length === 2, "the answer");
  const [first, second] = place.telegram.answers();
  expect(first).toMatchObject({ entities: [{ type: "bold", offset: 0, length: 1 }], reply_to: question.message_id });
  expect(first?.text).toMatch(/^a b_c_d\n\nword/);
  expect(second).not.toHaveProperty("reply_to");
});

test("the answer without a model is what the tool gave, character by character", async () => {
  const place = await scratchPlace();
  await place.open();
  const question = place.telegram.say({ text: "/read a.md" });
  await place.answer("1: **a** `b`\n2: ```", "direct");
  await place.telegram.until(() => place.telegram.answers().length === 1, "the answer");
  expect(place.telegram.answers()[0]).toMatchObject({ text: "1: **a** `b`\n2: ```", entities: [] });
  expect(place.telegram.answers()[0]?.reply_to).toBe(question.message_id);
});

test("an answer comes although its question was deleted", async () => {
  const place = await scratchPlace();
  await place.open();
  const question = place.telegram.say({ text: "what is there?" });
  const lease = await place.claim();
  await clientOf(place).call((api) => api.deleteMessage(ADA, question.message_id));
  await place.store.inbox.finish(lease, { outcome: "done", reply: "nothing" });
  place.notifier.notify();
  await place.telegram.until(() => said(place).includes("nothing"), "the answer");
});

test("formatting that Telegram refuses costs the formatting, not the message", async () => {
  const place = await known();
  const part = { text: "a", entities: [{ type: "bold", offset: 0, length: 5 } as const] };
  await clientOf(place).send(ADA, (api, signal) => sendPart(api, { to: { chat: ADA }, part }, signal));
  expect(place.telegram.answers()).toMatchObject([{ text: "a", entities: [] }]);
});

test("a long answer comes in parts, and one that is cut off half-way goes on where it stopped", async () => {
  const place = await known();
  const { sender } = await place.open();
  const text = Array.from({ length: 5 }, (_, i) => `${i} ${"word ".repeat(700)}`).join("\n\n");
  place.telegram.fault({ kind: "slow", ms: 0, method: "sendMessage", times: 2 });
  place.telegram.fault({ kind: "server_error", method: "sendMessage" });
  await expect(sender.send(rowOf({ kind: "text", text }))).rejects.toThrow(DeliveryError);
  expect(said(place)).toHaveLength(2);
  await place.until(() => sender.send(rowOf({ kind: "text", text })).catch(() => undefined));
  expect(said(place).map((part) => part[0])).toEqual(["0", "1", "2", "3", "4"]);
});

test("no part of a long answer is sent again because the store could not record it", async () => {
  const place = await known();
  let isFull = true;
  const set: Store["kv"]["set"] = (...given) =>
    isFull ? Promise.reject(new Error("the disk is full")) : place.store.kv.set(...given);
  const { sender } = await place.open({ store: { ...place.store, kv: { ...place.store.kv, set } } });
  const text = Array.from({ length: 3 }, (_, i) => `${i} ${"word ".repeat(700)}`).join("\n\n");
  const send = (): Promise<{ readonly receipt?: string }> => sender.send(rowOf({ kind: "text", text }));
  for (let i = 0; i < 3; i++) await expect(send()).rejects.toThrow("the disk is full");
  isFull = false;
  expect(await send()).toEqual({ receipt: String(place.telegram.answers().at(-1)?.message_id) });
  expect(said(place).map((part) => part[0])).toEqual(["0", "1", "2"]);
});

test("an answer too long to scroll through is sent as a file", async () => {
  const place = await known();
  const { sender } = await place.open();
  const text = "line\n".repeat(50_000);
  await sender.send(rowOf({ kind: "text", text }));
  const [message] = place.telegram.answers();
  expect(message?.document?.file_name).toBe("answer.md");
  expect(message?.document?.content.toString()).toBe(text);
  expect(message?.text).toMatch(/^The answer is in this file; it begins:\n\nline/);
});

test("a file of the run is sent under its name, with what was said of it cut to what fits", async () => {
  const place = await known();
  const { sender } = await place.open();
  mkdirSync(join(place.state_dir, "runs/run_1/artifacts"), { recursive: true });
  writeFileSync(join(place.state_dir, "runs/run_1/artifacts/ab-a.txt"), "content");
  const file = {
    kind: "file",
    artifact: "artifacts/ab-a.txt",
    name: "a b.txt",
    media_type: "text/plain",
    bytes: 7,
    sha256: "",
  } as const;
  await sender.send(rowOf({ ...file, caption: "😀".repeat(1000) }));
  const [message] = place.telegram.answers();
  expect(message?.document?.file_name).toBe("a b.txt");
  expect(message?.document?.content.toString()).toBe("content");
  expect(message?.text).toMatch(/^(?:😀)+…$/u);
  expect(message?.text.length).toBeLessThanOrEqual(1024);

  await sender.send(rowOf({ ...file, artifact: "artifacts/gone" }));
  expect(said(place).at(-1)).toBe('The file "a b.txt" is no longer stored.');
  await expect(sender.send(rowOf({ ...file, artifact: "../../a.db" }))).rejects.toMatchObject({ forGood: true });
});

const PHOTOS = [
  { title: "a picture is a photo", content: greyPng(20, 10), as: "photo" },
  { title: "a picture that is too narrow for Telegram is a file", content: greyPng(2, 100), as: "document" },
  { title: "a picture that is cut off is a file", content: greyPng(20, 10).subarray(0, 40), as: "document" },
  { title: "a text that is called a picture is a file", content: Buffer.from("PNG"), as: "document" },
] as const;

for (const { title, content, as } of PHOTOS) {
  test(title, async () => {
    const place = await known();
    const { sender } = await place.open();
    mkdirSync(join(place.state_dir, "runs/run_1"), { recursive: true });
    writeFileSync(join(place.state_dir, "runs/run_1/a.png"), content);
    const file = { artifact: "a.png", name: "a.png", media_type: "image/png", bytes: content.length, sha256: "" };
    await sender.send(rowOf({ kind: "file", ...file, caption: "the **plan**" }));
    const [message] = place.telegram.answers();
    expect(message?.[as]?.content).toEqual(content);
    expect(message).toMatchObject({ text: "the plan", entities: [{ type: "bold", offset: 4, length: 4 }] });
  });
}

test("a line stands for a file that takes too long again and again, and what follows it goes out", async () => {
  const place = await known();
  const { telegram, store, state_dir } = place;
  const client = clientOf(place);
  const common = { store, client, allowed: new Set<number>(), clock: Date.now };
  const questions = new Questions({ ...common, onTask: () => undefined, onAnswer: () => undefined });
  const sender = createOutboxSender({ store, client, questions, redact: (text) => text, state_dir, fileMs: () => 400 });
  mkdirSync(join(state_dir, "runs/run_1"), { recursive: true });
  writeFileSync(join(state_dir, "runs/run_1/a.txt"), "content");
  const file = {
    kind: "file",
    artifact: "a.txt",
    name: "a.txt",
    media_type: "text/plain",
    bytes: 7,
    sha256: "",
  } as const;
  telegram.fault({ kind: "hang", method: "sendDocument", times: "always" });
  let receipt: string | undefined;
  for (let i = 0; receipt === undefined && i < 1000; i++) {
    receipt = (await sender.send(rowOf(file)).catch(() => ({ receipt: undefined }))).receipt;
    if (receipt === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
  }
  expect(telegram.calls.filter(({ method }) => method === "sendDocument")).toHaveLength(3);
  expect(telegram.answers().map(({ text }) => text)).toEqual([
    'The file "a.txt" could not be sent: the connection is too slow.',
  ]);
});

// oxfmt-ignore
const FAILURES = [
  { title: "a person who has blocked the bot", fault: { kind: "blocked" },                          chat: "telegram:42", gives: { forGood: true } },
  { title: "a chat that is not there",         fault: undefined,                                    chat: "telegram:99", gives: { forGood: true } },
  { title: "a lane of another channel",        fault: undefined,                                    chat: "http:a",      gives: { forGood: true } },
  { title: "too much at once",                 fault: { kind: "rate_limited", retry_after_s: 7 },   chat: "telegram:42", gives: { forGood: false, retryAfterMs: 7000 } },
  { title: "a fault of the server",            fault: { kind: "server_error" },                     chat: "telegram:42", gives: { forGood: false, retryAfterMs: undefined } },
  { title: "JSON of a gateway",                fault: { kind: "gateway_json" },                     chat: "telegram:42", gives: { forGood: false, retryAfterMs: undefined } },
  { title: "no answer",                        fault: { kind: "reset_before" },                     chat: "telegram:42", gives: { forGood: false, retryAfterMs: undefined } },
] as const;

for (const { title, fault, chat, gives } of FAILURES) {
  test(`${title} is ${gives.forGood ? "given up" : "tried again"}, and said without the token`, async () => {
    const place = await known();
    const { sender } = await place.open();
    if (fault !== undefined) place.telegram.fault({ ...fault, method: "sendMessage" });
    const problem = await sender.send(rowOf({ kind: "text", text: "x" }, { chat })).catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(DeliveryError);
    expect(problem).toMatchObject(gives);
    expect((problem as Error).message).not.toContain(place.telegram.token.slice(9));
  });
}

test("nothing more is sent to a chat before the time is over that Telegram asked for; other chats go on", async () => {
  const place = await known();
  place.telegram.say({ chat: -5, text: "@fake_bot hello" });
  const { sender } = await place.open();
  place.telegram.fault({ kind: "rate_limited", retry_after_s: 60, method: "sendMessage" });
  await expect(sender.send(rowOf({ kind: "text", text: "a" }))).rejects.toMatchObject({ retryAfterMs: 60_000 });
  const { retryAfterMs } = (await sender
    .send(rowOf({ kind: "text", text: "a" }))
    .catch((error: unknown) => error)) as DeliveryError;
  expect(retryAfterMs).toBeGreaterThan(50_000);
  await sender.send(rowOf({ kind: "text", text: "b" }, { chat: "telegram:-5" }));
  expect(place.telegram.answers(-5)).toHaveLength(1);
  expect(place.telegram.calls.filter(({ is_early }) => is_early)).toEqual([]);
});

test("what is sent keeps to the rates that Telegram takes", async () => {
  const place = await scratchPlace({ limits: TELEGRAM_LIMITS });
  place.telegram.say({ text: "hello" });
  const { sender } = await place.open({ rate: new RateLimit({ clock: Date.now }) });
  await sender.send(rowOf({ kind: "text", text: "x ".repeat(6000) }));
  expect(said(place)).toHaveLength(3);
  expect(place.telegram.calls.filter(({ status }) => status === 429)).toEqual([]);
});

test("what is answered while Telegram is away goes out in order when it is back", async () => {
  const place = await scratchPlace();
  await place.open();
  for (const text of ["one", "two", "three"]) place.telegram.say({ user: ADA, text });
  await place.until(async () => (await place.tasks()).length === 3);
  await place.telegram.outage("refused");
  for (const text of ["first", "second", "third"]) await place.answer(text);
  await place.until(() => place.lines.some((line) => line.includes("ECONNREFUSED")));
  await place.telegram.recover();
  await place.telegram.until(() => place.telegram.answers().length === 3, "the answers");
  expect(said(place)).toEqual(["first", "second", "third"]);
});

const MARKED = [`ghp\\_${"a1B2".repeat(9)}`, `**ghp_a1B2**${"a1B2".repeat(8)}`, `~~ghp_a1B2~~${"a1B2".repeat(8)}`];

test.each(MARKED)("a secret that is complete only without Markdown's marks is redacted: %s", async (marked) => {
  const place = await scratchPlace();
  await place.open();
  place.telegram.say({ text: "show it" });
  await place.answer(`key ${marked}`, "fake");
  const { text } = await place.telegram.until(() => place.telegram.answers()[0], "the answer");
  expect(text).toBe(`key ${REDACTION_MARKER}`);
});

test("a link whose address is a secret without Markdown's marks is shown without the address", async () => {
  const place = await scratchPlace();
  await place.open();
  const secret = `ghp_${"a1B2".repeat(9)}`;
  place.telegram.say({ text: "show it" });
  await place.answer(`**see** [a link](https://b.example/${secret.replace("_", "\\_")})`, "fake");
  const { text, entities } = await place.telegram.until(() => place.telegram.answers()[0], "the answer");
  expect(text).toBe("see a link");
  expect(entities).toEqual([{ type: "bold", offset: 0, length: 3 }]);
});
