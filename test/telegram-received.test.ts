import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startFakeModel } from "../emulators/fake-model/server.ts";
import { greyPng } from "../emulators/fake-telegram/media/images.ts";
import { scratchPlace } from "./support/service.ts";
import type { Place } from "./support/service.ts";
import { ADA, answersOf, openTelegram, pressed, questionIn, startBot, tasksOf } from "./support/telegram.ts";

/** Files that a person sends, where the policy asks, denies or counts, or Telegram does not give what it announced. */

function inboxOf({ root }: Place): readonly string[] {
  return existsSync(join(root, "inbox")) ? readdirSync(join(root, "inbox")).toSorted() : [];
}

/** The configuration of the user; gives the variable that names it. */
function configure({ path }: Place, configuration: object): Record<string, string> {
  mkdirSync(join(path, "config/autonous"), { recursive: true });
  writeFileSync(join(path, "config/autonous/config.json"), JSON.stringify(configuration));
  return { XDG_CONFIG_HOME: join(path, "config") };
}

const ASK = { rules: [{ effect: "confirm", tool: "receive_file", path: "inbox/**" }] };
const document = (file_name: string, content: string | Buffer) => ({ kind: "document" as const, file_name, content });

test("a rule asks for each file: one is denied with a reason, one of the same name is allowed", async () => {
  const place = scratchPlace();
  const telegram = await openTelegram(place);
  await startBot(place, telegram, configure(place, ASK));
  telegram.album({ items: [document("b.txt", "one"), document("b.txt", "another")], caption: "/read inbox/b.txt" });
  const first = await questionIn(telegram);
  expect(first.text).toMatch(/^The agent wants to store the received file "b\.txt" as inbox\/b\.txt\./);
  expect(first.text).toContain("+one");
  telegram.say({ text: "the other one", reply_to: first.message_id });
  const second = await questionIn(telegram, ADA, [first.message_id]);
  expect(second.text).toContain("+another");
  expect(await pressed(telegram, { message_id: second.message_id, button: "Allow once" })).toMatch(/^Allowed once/);
  const said = (await answersOf(telegram, 5)).map(({ text }) => text);
  expect(said.at(-1)).toBe("another");
  expect(said).toContainEqual(expect.stringMatching(/Skipped: "b\.txt" \(.*a person said no: the other one\)/));
  expect(inboxOf(place)).toEqual(["b.txt"]);
});

test("an answer that does not come costs the file, not the task", async () => {
  const place = scratchPlace();
  const telegram = await openTelegram(place);
  await startBot(place, telegram, { ...configure(place, ASK), AUTONOUS_APPROVAL_TIMEOUT_SECONDS: "1" });
  telegram.send({ ...document("b.txt", "b"), caption: "/read a.txt" });
  const said = (await answersOf(telegram, 3)).map(({ text }) => text);
  expect(said).toContainEqual(expect.stringMatching(/^Warning: Skipped: "b\.txt"/));
  expect(said.at(-1)).toBe("a");
  expect(inboxOf(place)).toEqual([]);
});

test("/stop while a file waits for its approval: nothing is stored, not even by the button afterwards", async () => {
  const place = scratchPlace();
  const telegram = await openTelegram(place);
  const service = await startBot(place, telegram, configure(place, ASK));
  telegram.send({ ...document("b.txt", "b"), caption: "/read a.txt" });
  const question = await questionIn(telegram);
  const data = question.buttons[0]?.[0]?.callback_data ?? "";
  telegram.say({ text: "/stop" });
  await telegram.until(() => telegram.answers().some(({ text }) => text.startsWith("Stopped: ")), "the stop");
  const shown = await pressed(telegram, { message_id: question.message_id, data, forged: true });
  expect(shown).toMatch(/^Too late: Withdrawn/);
  telegram.say({ text: "/read a.txt" });
  await telegram.until(() => telegram.answers().some(({ text }) => text === "a"), "the next task");
  expect(inboxOf(place)).toEqual([]);
  expect((await tasksOf(service)).map(({ state }) => state)).toEqual(["cancelled", "done"]);
});

test("a quota of bytes counts files: what is beyond it is not taken", async () => {
  const place = scratchPlace();
  const telegram = await openTelegram(place);
  await startBot(place, telegram, configure(place, { quotas: [{ per: "run", bytes_written: 10 }] }));
  const items = ["1", "2", "3"].map((digit) => document(`${digit}.txt`, digit.repeat(8)));
  telegram.album({ items, caption: "/read a.txt" });
  const said = (await answersOf(telegram, 2)).map(({ text }) => text);
  expect(said[0]).toMatch(/Skipped: "\d\.txt" \(.*has used 16 of its 10 bytes written/);
  expect(said.at(-1)).toBe("a");
  expect(inboxOf(place)).toEqual(["1.txt", "2.txt"]); // what is counted ends the calls after it
});

test("the profile readonly takes no files, and the start says so", async () => {
  const place = scratchPlace();
  const telegram = await openTelegram(place);
  const service = await startBot(place, telegram, { AUTONOUS_PROFILE: "readonly" });
  telegram.send({ ...document("b.txt", "b"), caption: "/read a.txt" });
  const said = (await answersOf(telegram, 2)).map(({ text }) => text);
  expect(said).toEqual([expect.stringMatching(/Skipped: "b\.txt" \(.*profile "readonly"/), "a"]);
  expect(inboxOf(place)).toEqual([]);
  expect(service.stderr()).toMatch(/Inbox "inbox": files are refused: .*profile "readonly"/);
});

test("files whose size was announced wrongly are bounded, and none that is cut short is taken", async () => {
  const place = scratchPlace();
  const telegram = await openTelegram(place);
  await startBot(place, telegram);
  const items = [
    { ...document("more.bin", Buffer.alloc(30_000_000)), file_size: 1000 },
    { ...document("less.bin", "x"), file_size: 5000 },
    { ...document("good.bin", "good") },
  ];
  telegram.album({ items, caption: "/read inbox/good.bin" });
  const said = (await answersOf(telegram, 2)).map(({ text }) => text);
  expect(said[0]).toContain('"more.bin" (it is too large; the limit is 20 MB)');
  expect(said[0]).toContain('"less.bin" (Telegram sent 1 of 5000 bytes; send it again)');
  expect(said[1]).toBe("good");
  expect(inboxOf(place)).toEqual(["good.bin"]);
  expect(readFileSync(join(place.root, "inbox/good.bin"), "utf8")).toBe("good");
});

test("pictures that would be huge, or are none, are files for the model and are not shown to it", async () => {
  const place = scratchPlace();
  const telegram = await openTelegram(place);
  const model = await startFakeModel({ key: null, script: { rounds: [{ text: "Seen." }], repeat: true } });
  place.onEnd(() => model.close());
  await startBot(place, telegram, {
    AUTONOUS_MODEL: "anthropic:claude-x",
    ANTHROPIC_API_KEY: "k",
    ANTHROPIC_BASE_URL: `${model.url}/v1`,
  });
  const good = greyPng(3, 2);
  const bomb = greyPng(1, 1);
  bomb.writeUInt32BE(30_000, 16);
  bomb.writeUInt32BE(30_000, 20);
  const cut = Buffer.concat([Buffer.from("ffd8ffe000104a46494600010100000100010000", "hex"), Buffer.alloc(500)]);
  const frames = Buffer.concat([
    Buffer.from("GIF89a\xff\xff\xff\xff\x00\x00\x00", "latin1"),
    ...Array.from({ length: 100_000 }, () => Buffer.from("2c00000000010001000002024401003b", "hex").subarray(0, 15)),
  ]);
  const items = [
    document("bomb.png", bomb),
    document("cut.jpg", cut),
    document("drawing.png", '<svg xmlns="http://www.w3.org/2000/svg"/>'),
    document("frames.gif", frames),
    document("good.png", good),
  ];
  telegram.album({ items, caption: "What are these?" });
  expect((await answersOf(telegram, 1))[0]?.text).toBe("Seen.");
  interface Body {
    readonly messages: readonly { readonly content: readonly { readonly type: string }[] }[];
  }
  const messages = (model.requests.at(-1)?.body as Body | undefined)?.messages ?? [];
  const shown = messages.flatMap(({ content }) => content).filter(({ type }) => type === "image");
  expect(shown).toEqual([
    expect.objectContaining({ source: expect.objectContaining({ data: good.toString("base64") }) }),
  ]);
  const text = JSON.stringify(messages);
  for (const name of ["bomb.png", "cut.jpg", "frames.gif"])
    expect(text).toMatch(new RegExp(`> inbox/${name} \\(image/\\w+, \\d+ bytes, an image that you cannot see`));
  expect(text).toContain("> inbox/drawing.png (text/plain");
  expect(inboxOf(place)).toHaveLength(items.length);
});
