import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openStore } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import { Notifier } from "../store/notifier.ts";
import { DeliveryError } from "./outbox-sender.ts";
import type { OutboxSender } from "./outbox-sender.ts";
import { deliver } from "./deliver.ts";

/** One reply in the outbox. */
async function setUp(): Promise<Store> {
  const folder = mkdtempSync(join(tmpdir(), "autonous-deliver-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const store = await openStore({ file: join(folder, "a.db"), clock: Date.now });
  onTestFinished(() => store.close());
  await store.inbox.ingest({ source: "test", lane: "a", text: "do it" });
  const [lease] = await store.inbox.claim("worker", 1);
  if (lease !== undefined) await store.inbox.finish(lease, { outcome: "done", reply: "done" });
  return store;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

// oxfmt-ignore
const REFUSED = [
  { title: "refuses for a while", problem: new DeliveryError("busy", { retryAfterMs: 60_000 }),               waitMs: 60_000 },
  { title: "refuses for good",    problem: new DeliveryError("gone", { forGood: true, retryAfterMs: 60_000 }), waitMs: 60_000 },
  { title: "cannot be reached",   problem: new Error("no answer"),                                       waitMs: 1000 },
] as const;

for (const { title, problem, waitMs } of REFUSED) {
  test(`a channel that ${title} is not called again before the wait is over, even while the store cannot record it`, async () => {
    const real = await setUp();
    let [now, looks, tries] = [Date.now(), 0, 0];
    const refuse = (): Promise<never> => Promise.reject(new Error("the disk is full"));
    const pending: Store["outbox"]["pending"] = (...given) => {
      looks++;
      return real.outbox.pending(...given);
    };
    const store = { ...real, outbox: { ...real.outbox, pending, markFailed: refuse, giveUp: refuse } };
    const send = (): Promise<never> => {
      tries++;
      return Promise.reject(problem);
    };
    const notifier = new Notifier();
    const lookAgain = (isEnough: () => boolean): Promise<void> =>
      until(() => {
        notifier.notify();
        return isEnough();
      });
    const stopped = new AbortController();
    const sender = { channel: "test", send };
    const sending = deliver(stopped.signal, { store, sender, notifier, log: () => undefined, clock: () => now });

    await lookAgain(() => looks >= 10);
    expect(tries).toBe(1);
    const [from, before] = [performance.now(), looks];
    await until(() => looks >= before + 3);
    expect(performance.now() - from).toBeGreaterThan(500); // no ring, so the store was not polled in a loop
    now += waitMs;
    await lookAgain(() => tries === 2);
    stopped.abort();
    notifier.notify();
    await sending;
    expect(tries).toBe(2);
  });
}

test("a wait with a fraction of a millisecond is recorded like any other", async () => {
  const store = await setUp();
  const notifier = new Notifier();
  const lines: string[] = [];
  let tries = 0;
  const send = (): Promise<object> =>
    ++tries === 1 ? Promise.reject(new DeliveryError("busy", { retryAfterMs: 0.5 })) : Promise.resolve({});
  const stopped = new AbortController();
  const log = (line: string): void => void lines.push(line);
  const sending = deliver(stopped.signal, { store, sender: { channel: "test", send }, notifier, log, clock: Date.now });
  while ((await store.outbox.pending({ limit: 1 })).length > 0 || lines.length < 2)
    await new Promise((resolve) => setTimeout(resolve, 5));
  stopped.abort();
  notifier.notify();
  await sending;
  expect(lines).toEqual(["Cannot send replies via test: busy", "Cannot send replies via test: resolved"]);
});

test("joined rows are sent together and recorded one by one; if the store fails in between, nothing is sent twice", async () => {
  const real = await setUp();
  for (const text of ["b", "c"]) {
    await real.inbox.ingest({ source: "test", lane: "a", text });
    const [lease] = await real.inbox.claim("worker", 1);
    if (lease !== undefined) await real.inbox.finish(lease, { outcome: "done", reply: text });
  }
  let fails = 1;
  const marked: number[] = [];
  const markSent: Store["outbox"]["markSent"] = async (id, receipt) => {
    if (marked.length === 1 && fails-- > 0) throw new Error("the disk is full");
    await real.outbox.markSent(id, receipt);
    marked.push(id);
  };
  const sent: number[][] = [];
  const sender: OutboxSender = {
    channel: "test",
    countJoined: (rows) => Math.min(rows.length, 2),
    send: (row, joined = []) => {
      sent.push([row, ...joined].map(({ id }) => id));
      return Promise.resolve({});
    },
  };
  const stopped = new AbortController();
  const store = { ...real, outbox: { ...real.outbox, markSent } };
  const notifier = new Notifier();
  const sending = deliver(stopped.signal, { store, sender, notifier, log: () => undefined, clock: Date.now });
  await until(() => {
    notifier.notify();
    return marked.length === 3;
  });
  stopped.abort();
  await sending;
  expect(sent.flat()).toEqual([1, 2, 3]);
  expect(sent[0]).toEqual([1, 2]);
  expect(marked).toEqual([1, 2, 3]);
});
