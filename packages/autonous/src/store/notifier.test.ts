import { expect, test } from "vitest";
import { Notifier } from "./notifier.ts";

const HOUR_MS = 3_600_000;

function waitFor(
  notifier: Notifier,
  { atMostMs = HOUR_MS, signal = new AbortController().signal } = {},
): Promise<void> {
  return notifier.wait({ since: notifier.count, atMostMs, signal });
}

test("all waiters return at the next notification, and later waiters wait for the one after", async () => {
  const notifier = new Notifier();
  const returned: string[] = [];
  const wait = async (name: string): Promise<void> => {
    await waitFor(notifier);
    returned.push(name);
  };
  const first = [wait("a"), wait("b")];
  notifier.notify();
  const later = wait("c");
  await Promise.all(first);
  expect(returned).toEqual(["a", "b"]);
  expect(notifier.waiting).toBe(1);
  notifier.notify();
  await later;
  expect(notifier.waiting).toBe(0);
});

test("a wait without a notification times out and leaves nothing behind", async () => {
  const notifier = new Notifier();
  const one = waitFor(notifier);
  await Promise.all(Array.from({ length: 100 }, () => waitFor(notifier, { atMostMs: 1 })));
  expect(notifier.waiting).toBe(1);
  notifier.notify();
  await one;
});

test("a notification that came before the wait, but after the read, ends the wait at once", async () => {
  const notifier = new Notifier();
  const since = notifier.count;
  notifier.notify();
  await notifier.wait({ since, atMostMs: HOUR_MS, signal: new AbortController().signal });
  expect(notifier.waiting).toBe(0);
});

test("an abort ends a wait and prevents later ones; other waiters keep waiting", async () => {
  const notifier = new Notifier();
  const stop = new AbortController();
  const stopped = waitFor(notifier, { signal: stop.signal });
  const other = waitFor(notifier);
  stop.abort();
  await stopped;
  await waitFor(notifier, { signal: stop.signal });
  expect(notifier.waiting).toBe(1);
  notifier.notify();
  await other;
});
