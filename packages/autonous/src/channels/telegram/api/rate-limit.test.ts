import { expect, test } from "vitest";
import { RateLimit } from "./rate-limit.ts";

function limited(): { readonly rate: RateLimit; readonly pass: (ms: number) => void } {
  let now = 1_000_000;
  return { rate: new RateLimit({ clock: () => now }), pass: (ms) => void (now += ms) };
}

test("a person gets one message a second, a group one in three, and others need not wait for either", () => {
  const { rate, pass } = limited();
  expect([rate.tryTake(1), rate.tryTake(1)]).toEqual([true, false]);
  pass(34);
  expect([rate.tryTake(2), rate.tryTake(1)]).toEqual([true, false]);
  pass(34);
  expect(rate.tryTake(-5)).toBe(true);
  pass(1000);
  expect([rate.tryTake(-5), rate.tryTake(1)]).toEqual([false, true]);
  pass(2000);
  expect(rate.tryTake(-5)).toBe(true);
});

test("no more than thirty a second go out in all", () => {
  const { rate, pass } = limited();
  let sent = 0;
  for (let ms = 0; ms < 1000; ms++) {
    if (rate.tryTake(ms)) sent++;
    pass(1);
  }
  expect(sent).toBe(30);
});

test("a chat that Telegram asked to wait with is held that long, and no other chat", () => {
  const { rate, pass } = limited();
  rate.hold(1, 5000);
  rate.hold(1, 1000);
  expect([rate.heldMs(1), rate.heldMs(2), rate.heldMs("getUpdates")]).toEqual([5000, 0, 0]);
  expect([rate.tryTake(1), rate.tryTake(2)]).toEqual([false, true]);
  pass(5000);
  expect([rate.heldMs(1), rate.tryTake(1)]).toEqual([0, true]);
});

test("a method that goes to no chat is held by itself", () => {
  const { rate } = limited();
  rate.hold("setMyCommands", 5000);
  expect([rate.heldMs("setMyCommands"), rate.heldMs("getUpdates"), rate.tryTake(1)]).toEqual([5000, 0, true]);
});

test("a wait is never told shorter than it is, and in whole milliseconds", () => {
  const { rate, pass } = limited();
  rate.hold(1, 5000);
  pass(0.25);
  expect(rate.heldMs(1)).toBe(5000);
});

test("a caller that waits for its turn is released when the limit is stopped", async () => {
  const { rate } = limited();
  rate.tryTake(1);
  const stopped = new AbortController();
  const waiting = rate.take(1, stopped.signal);
  stopped.abort(new Error("stopped"));
  await expect(waiting).rejects.toThrow();
});

test("turns are taken in the order of asking", async () => {
  const rate = new RateLimit({ clock: Date.now, chatMs: 2, anyMs: 0 });
  const order: number[] = [];
  const signal = new AbortController().signal;
  await Promise.all([1, 2, 3, 4, 5].map(async (each) => rate.take(1, signal).then(() => order.push(each))));
  expect(order).toEqual([1, 2, 3, 4, 5]);
});
