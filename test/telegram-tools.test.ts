import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BUILT_IN } from "../packages/runtime/src/tools/all.ts";
import type { FakeTelegram } from "../emulators/fake-telegram/server.ts";
import { MATRIX } from "./campaigns/matrix/run-cases.ts";
import { servePage, setStage } from "./campaigns/matrix/stage.ts";
import type { MatrixWorld } from "./campaigns/matrix/stage.ts";
import { scratchPlace } from "./support/service.ts";
import type { Served } from "./support/service.ts";
import { eventsOf, openTelegram, pressed, questionIn, startBot } from "./support/telegram.ts";

/** Every tool, asked for by a message in a chat: each case in a chat of its own, all of them side by side. */

const FIRST_PERSON = 1001;
const PEOPLE = 200;

const ending: (() => Promise<void> | void)[] = [];
let world: MatrixWorld;

beforeAll(async () => {
  const place = scratchPlace((close) => void ending.push(close));
  const page = await servePage(place);
  const telegram = await openTelegram(place);
  const users = Array.from({ length: PEOPLE }, (_, index) => FIRST_PERSON + index);
  const service = await startBot(place, telegram, setStage(place, page, users));
  world = { root: place.root, page, ask: askBy(telegram, service) };
});
afterAll(async () => {
  for (const close of ending.toReversed()) await close();
});

function askBy(telegram: FakeTelegram, service: Served): MatrixWorld["ask"] {
  let people = 0;
  return async (text, { chat = FIRST_PERSON + people++, press, file } = {}) => {
    const before = telegram.answers(chat).length;
    if (file === undefined) telegram.say({ user: chat, text });
    else telegram.send({ user: chat, kind: "document", content: file.content, file_name: file.name, caption: text });
    if (press !== undefined) {
      const { message_id } = await questionIn(telegram, chat);
      await pressed(telegram, { user: chat, message_id, button: press });
    }
    const events = await eventsOf(service, text);
    const said = telegram
      .answers(chat)
      .slice(before)
      .map(({ text: shown, document, photo }) => ({
        text: shown,
        ...(document === undefined ? {} : { document: { name: document.file_name, bytes: document.content.length } }),
        ...(photo === undefined ? {} : { photo: true as const }),
      }));
    return { chat, answer: said.at(-1)?.text ?? "", said, events };
  };
}

describe.concurrent("a message in the chat", () => {
  for (const { tool, title, run } of MATRIX) test(`${tool} ${title}`, () => run(world));
});

test("every tool that there is has a case", () => {
  const named = new Set(MATRIX.map(({ tool }) => tool));
  expect(BUILT_IN.map(({ name }) => name).filter((name) => !named.has(name))).toEqual([]);
});
