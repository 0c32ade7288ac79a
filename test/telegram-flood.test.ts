import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openStore } from "../packages/autonous/src/store/open-store.ts";
import { autonous } from "./support/cli.ts";
import { scratchPlace } from "./support/service.ts";
import { ADA, answersOf, openTelegram, startBot, tasksOf } from "./support/telegram.ts";

/** Anyone can write to a bot: a crowd costs neither its owners' turn, nor their peace, nor the disk. */

const CROWD = 2000;

test("a crowd of strangers is bounded in messages, log lines and what is stored; the owner is served in order", async () => {
  const place = scratchPlace();
  const telegram = await openTelegram(place);
  const service = await startBot(place, telegram);
  const about = ["--state-dir", place.state_dir];
  await autonous(["telegram", "pair", "--no-wait", ...about], { cwd: place.root });
  const orders: string[] = [];
  for (let number = 0; number < CROWD; number++) {
    const user = { id: 1_000_000 + number, first_name: `Stranger ${"x".repeat(50)}`, username: `stranger_${number}` };
    if (number % 4 === 0) telegram.say({ user, text: "let me in ".repeat(300) });
    if (number % 4 === 1) telegram.say({ user, text: `7K2M-9QXD-${String(number).padStart(4, "0")}` });
    if (number % 4 === 2) telegram.say({ user, chat: -500 - (number % 40), text: "/status" });
    if (number % 4 === 3) telegram.send({ user, kind: "document", file_name: "x.bin", content: "x" });
    if (number % 500 === 250) orders.push(telegram.say({ text: `/read a.txt ${number}` }).text);
  }
  await telegram.until(() => telegram.unconfirmed === 0, "all to be taken", 120_000);
  await answersOf(telegram, orders.length);

  expect((await tasksOf(service)).map(({ text }) => text)).toEqual(orders);
  const sent = telegram.calls.filter(({ method, chat }) => method.startsWith("send") && chat !== ADA);
  expect(sent.filter(({ chat = 0 }) => chat < 0)).toEqual([]);
  expect(sent.length).toBeLessThan(100); // 10 per minute, and questions to the other owner
  expect(telegram.answers().filter(({ text }) => text.includes("Let them in?")).length).toBeLessThanOrEqual(10);
  expect(telegram.calls.filter(({ method }) => method === "getFile")).toEqual([]);
  const lines = readFileSync(join(place.state_dir, "logs/service.jsonl"), "utf8").split("\n");
  expect(lines.length).toBeLessThan(60); // 30 per hour about them
  await service.stop();
  const store = await openStore({ file: place.database, clock: Date.now });
  const book = (await store.kv.get("telegram:access")) ?? "";
  await store.close();
  expect(book.length).toBeLessThan(20_000);
}, 180_000);
