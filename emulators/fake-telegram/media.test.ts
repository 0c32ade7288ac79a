import { expect, test } from "vitest";
import { MEDIA_KINDS } from "./media/files.ts";
import type { MediaKind } from "./media/files.ts";
import { greyPng } from "./media/images.ts";
import { THINGS } from "./media/things.ts";
import type { Thing } from "./media/things.ts";
import type { FakeTelegram } from "./server.ts";
import { call, open, updates } from "./support.ts";

interface Incoming {
  readonly message: Readonly<Record<string, unknown>>;
}

async function incoming(telegram: FakeTelegram): Promise<readonly Incoming["message"][]> {
  return (await updates(telegram)).map((update) => (update as unknown as Incoming).message);
}

async function addressOf(telegram: FakeTelegram, file_id: unknown): Promise<string> {
  const { result, description } = await call(telegram, "getFile", { file_id });
  if (result === undefined) throw new Error(description);
  return `${telegram.url}/file/bot${telegram.token}/${(result as { file_path: string }).file_path}`;
}

const bytesAt = async (address: string): Promise<Buffer> => Buffer.from(await (await fetch(address)).arrayBuffer());

for (const kind of Object.keys(MEDIA_KINDS) as readonly MediaKind[]) {
  test(`a person sends: ${kind}; the bot fetches its bytes`, async () => {
    const telegram = await open();
    const content = kind === "photo" ? greyPng(100, 50) : Buffer.from([0, 255, 13, 10, 1]);
    telegram.send({ kind, content, file_name: "notes v2.pdf", caption: "/read this" });
    const [message] = await incoming(telegram);
    expect(message).toMatchObject({ caption: "/read this", caption_entities: [{ type: "bot_command", length: 5 }] });
    expect(message).not.toHaveProperty("text");
    const given = message?.[kind] as { file_id: string; file_size: number } | { file_id: string; file_size: number }[];
    const file = Array.isArray(given) ? given.at(-1) : given;
    expect(file).toMatchObject({ file_size: content.length });
    const address = await addressOf(telegram, file?.file_id);
    expect(address).toContain(`/${MEDIA_KINDS[kind].folder}/file_`);
    expect(await bytesAt(address)).toEqual(content);
    expect(telegram.calls.at(-1)).toMatchObject({ method: "download", status: 200 });
  });
}

test("a photo comes in several sizes, each with bytes of its own", async () => {
  const telegram = await open();
  const content = greyPng(1000, 2000);
  telegram.send({ kind: "photo", content });
  const [message] = await incoming(telegram);
  const sizes = message?.["photo"] as { file_id: string; width: number; height: number; file_size: number }[];
  expect(sizes.map(({ width, height }) => [width, height])).toEqual([
    [45, 90],
    [160, 320],
    [400, 800],
    [640, 1280],
    [1000, 2000],
  ]);
  for (const { file_id, file_size } of sizes)
    expect(await bytesAt(await addressOf(telegram, file_id))).toHaveLength(file_size);
  expect(await bytesAt(await addressOf(telegram, sizes.at(-1)?.file_id))).toEqual(content);
  expect(() => telegram.send({ kind: "photo", content: "words" })).toThrow("Cannot send this as a photo");
});

test("an animation is a document too; the same file sent twice has the same file_unique_id", async () => {
  const telegram = await open();
  telegram.send({ kind: "animation" });
  telegram.send({ kind: "document", content: "x", file_name: "a.txt", mime_type: "text/plain" });
  telegram.send({ kind: "document", content: "x", file_name: "b.txt" });
  const [animation, one, two] = await incoming(telegram);
  expect(animation).toMatchObject({ animation: { duration: 2 }, document: { mime_type: "video/mp4" } });
  expect(one).toMatchObject({ document: { file_name: "a.txt", mime_type: "text/plain" } });
  const [first, second] = [one, two].map((message) => message?.["document"] as Record<string, string>);
  expect(first?.["file_unique_id"]).toBe(second?.["file_unique_id"]);
  expect(first?.["file_id"]).not.toBe(second?.["file_id"]);
});

for (const kind of Object.keys(THINGS) as readonly Thing[]) {
  test(`a person sends: ${kind}`, async () => {
    const telegram = await open();
    telegram.send({ kind });
    expect(await incoming(telegram)).toMatchObject([{ ...THINGS[kind], from: { id: 42 } }]);
  });
}

test("an album is one update for each file, of one group, with the caption at the first", async () => {
  const telegram = await open();
  telegram.album({ caption: "All of it", items: [{ kind: "photo" }, { kind: "video" }, { kind: "photo" }] });
  const [one, two, three] = await incoming(telegram);
  expect(one).toMatchObject({ caption: "All of it", media_group_id: expect.any(String) as string });
  expect(two).not.toHaveProperty("caption");
  expect(new Set([one, two, three].map((message) => message?.["media_group_id"])).size).toBe(1);
});

test("a file over 20 MB, or one that is not known, has no address", async () => {
  const telegram = await open();
  telegram.send({ kind: "document", file_size: 20 * 1024 * 1024 + 1 });
  const [message] = await incoming(telegram);
  const { file_id } = (message?.["document"] ?? {}) as { file_id?: string };
  // oxfmt-ignore
  const refused = [
    { file_id, says: "Bad Request: file is too big" },
    { file_id: "BQACAgIAAxkBAAI999999", says: "Bad Request: wrong file_id or the file is temporarily unavailable" },
    { file_id: "x", says: "Bad Request: invalid file_id" },
    { file_id: "", says: "Bad Request: file_id not specified" },
  ];
  for (const { file_id: given, says } of refused)
    expect(await call(telegram, "getFile", { file_id: given })).toMatchObject({ status: 400, description: says });
});

test("an address is good for an hour, with the right token, and only after getFile", async () => {
  let now = Date.now();
  const telegram = await open({ now: () => now });
  const { document } = telegram.send({ kind: "document", content: "x" });
  const path = document?.path ?? "";
  expect((await fetch(`${telegram.url}/file/bot${telegram.token}/${path}`)).status).toBe(404);
  const address = await addressOf(telegram, document?.file_id);
  expect((await fetch(address.replace(telegram.token, "1:x"))).status).toBe(401);
  now += 3_601_000;
  expect((await fetch(address)).status).toBe(404);
  expect((await bytesAt(await addressOf(telegram, document?.file_id))).toString()).toBe("x");
});

test("a download can be refused, cut off, reset, or come late", async () => {
  const telegram = await open();
  const { document } = telegram.send({ kind: "document", content: "x".repeat(100_000) });
  const address = await addressOf(telegram, document?.file_id);
  telegram.fault({ kind: "link_expired" });
  await call(telegram, "getMe");
  expect((await fetch(address)).status).toBe(404);
  telegram.fault({ kind: "server_error", method: "download" });
  expect((await fetch(address)).status).toBe(500);
  for (const [kind, status] of [
    ["bad_gateway", 502],
    ["gateway_json", 503],
  ] as const) {
    telegram.fault({ kind, method: "download" });
    expect((await fetch(address)).status).toBe(status);
    expect(telegram.calls.at(-1)).toMatchObject({ method: "download", status, fault: kind });
  }
  for (const kind of ["cut_answer", "reset_after", "reset_before"] as const) {
    telegram.fault({ kind, method: "download" });
    await expect(bytesAt(address)).rejects.toThrow();
  }
  telegram.fault({ kind: "hang_after", method: "download" });
  const response = await fetch(address, { signal: AbortSignal.timeout(300) });
  await expect(response.arrayBuffer()).rejects.toThrow();
  telegram.fault({ kind: "slow", method: "download", ms: 20 });
  expect(await bytesAt(address)).toHaveLength(100_000);
  await telegram.outage("reset");
  await expect(fetch(address)).rejects.toThrow();
});

// oxfmt-ignore
const PASTED = [
  { title: "between paragraphs",    text: `${"a".repeat(3900)}\n\n${"b".repeat(50)}\n${"c".repeat(500)}`, lengths: [3900, 551] },
  { title: "between lines",         text: `${"a".repeat(3900)}\n${"b c. ".repeat(100)}`,                  lengths: [3900, 499] },
  { title: "between sentences",     text: `${"a".repeat(3900)}. ${"b ".repeat(300)}`,                     lengths: [3901, 599] },
  { title: "between words",         text: "word ".repeat(1000),                                           lengths: [4094, 904] },
  { title: "anywhere",              text: "a".repeat(9000),                                               lengths: [4096, 4096, 808] },
  { title: "not inside a face",     text: `a${"😀".repeat(2100)}`,                                        lengths: [4095, 106] },
  { title: "not at all",            text: "a".repeat(4096),                                               lengths: [4096] },
];

for (const { title, text, lengths } of PASTED) {
  test(`what is pasted is split ${title}`, async () => {
    const telegram = await open();
    const said = telegram.paste({ text });
    expect(said.map((message) => message.text.length)).toEqual(lengths);
    expect(await incoming(telegram)).toHaveLength(lengths.length);
    expect(
      said
        .map((message) => message.text)
        .join("")
        .replaceAll(/\s/g, ""),
    ).toBe(text.replaceAll(/\s/g, ""));
  });
}

test("a person replies to the bot, and marks some of its words", async () => {
  const telegram = await open();
  telegram.say({ text: "hello" });
  await call(telegram, "sendMessage", { chat_id: 42, text: "Delete a.txt and b.txt?" });
  const reply_to = telegram.answers()[0]?.message_id ?? 0;
  telegram.say({ text: "not this one", reply_to, quote: "b.txt" });
  expect((await incoming(telegram)).at(-1)).toMatchObject({
    text: "not this one",
    reply_to_message: { message_id: reply_to, from: { is_bot: true } },
    quote: { text: "b.txt", position: 17, is_manual: true },
  });
  const pasted = telegram.paste({ text: "word ".repeat(1000), reply_to, quote: "b.txt" });
  expect(pasted.map((message) => [message.reply_to, message.quote?.text])).toEqual([
    [reply_to, "b.txt"],
    [undefined, undefined],
  ]);
  expect(() => telegram.say({ text: "x", reply_to, quote: "c.txt" })).toThrow('Cannot quote "c.txt"');
  expect(() => telegram.say({ text: "x".repeat(4097) })).toThrow("paste splits them");
});
