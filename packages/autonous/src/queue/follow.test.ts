import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openStore } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import { Bell } from "./bell.ts";
import { followRecord } from "./follow.ts";
import { Mirror } from "./mirror.ts";

async function setUp(): Promise<{ store: Store; mirror: Mirror; lines: string[] }> {
  const folder = mkdtempSync(join(tmpdir(), "autonous-follow-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const store = await openStore({ file: join(folder, "a.db"), clock: Date.now });
  onTestFinished(() => store.close());
  const lines: string[] = [];
  const log = (line: string): void => void lines.push(line);
  return { store, mirror: new Mirror({ store, state_dir: folder, heads: folder, clock: Date.now, log }), lines };
}

/** Puts replies into the outbox. */
async function reply(store: Store, replies: readonly (readonly [chat: string, text: string])[]): Promise<void> {
  for (const [lane, text] of replies) {
    await store.inbox.ingest({ source: "test", lane, text });
    const [lease] = await store.inbox.claim("worker", 1);
    if (lease !== undefined) await store.inbox.finish(lease, { outcome: "done", reply: text });
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

test("a chat whose reply is not taken waits with what follows it; the others do not, and it is told once", async () => {
  const { store, mirror, lines } = await setUp();
  await reply(store, [
    ["a", "a1"],
    ["a", "a2"],
    ["b", "b1"],
    ["a", "a3"],
    ["b", "b2"],
  ]);
  const sent: string[] = [];
  let isDown = true;
  let failures = 0;
  const commander = {
    channel: "test",
    async send({ chat, text }: { chat: string; text: string }) {
      if (chat === "a" && isDown && ++failures > 0) throw new Error("the network is down");
      sent.push(text);
    },
  };
  const bell = new Bell();
  const stopped = new AbortController();
  const following = followRecord(stopped.signal, {
    store,
    bell,
    mirror,
    commanders: [commander],
    log: (line) => lines.push(line),
  });
  await until(() => {
    bell.ring();
    return failures > 3;
  });
  expect(sent).toEqual(["b1", "b2"]);
  expect(lines).toEqual(["Replies cannot be sent: the network is down"]);
  isDown = false;
  bell.ring();
  await until(() => lines.length === 2);
  expect(sent).toEqual(["b1", "b2", "a1", "a2", "a3"]);
  expect(lines[1]).toBe("Replies cannot be sent: that is over");
  stopped.abort();
  bell.ring();
  await following;
});

test("a store that fails is told of once, and does not end the following", async () => {
  const { store, mirror, lines } = await setUp();
  const bell = new Bell();
  let rounds = 0;
  const failing = (): Promise<never> => {
    rounds++;
    return Promise.reject(new Error("the store is locked"));
  };
  const locked: Store = { ...store, outbox: { ...store.outbox, pending: failing } };
  const stopped = new AbortController();
  const commanders = [{ channel: "test", send: () => Promise.resolve() }];
  const options = { store: locked, bell, mirror, commanders, log: (line: string) => void lines.push(line) };
  const following = followRecord(stopped.signal, options);
  await until(() => {
    bell.ring();
    return rounds > 3;
  });
  stopped.abort();
  bell.ring();
  await following;
  expect(lines).toEqual(["Replies cannot be sent: the store is locked"]);
});
