import { expect, test } from "vitest";
import { addressOf, inTopic, laneOf } from "./address.ts";

test.each([{ chat: 42 }, { chat: -1001234567890 }, { chat: -1001234567890, thread: 7 }])(
  "%j is found again by its lane",
  (address) => {
    expect(addressOf(laneOf(address))).toEqual(address);
  },
);

test.each(["http:42", "telegram:", "telegram:4x", "telegram:42:", "telegram:42:-7", "telegram:42:7:7"])(
  "%j is not a lane of Telegram's",
  (lane) => {
    expect(addressOf(lane)).toBeUndefined();
  },
);

test("only a topic is named to Telegram", () => {
  expect(inTopic({ chat: 42 })).toEqual({});
  expect(inTopic({ chat: -100, thread: 7 })).toEqual({ message_thread_id: 7 });
});
