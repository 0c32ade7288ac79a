import { expect, test } from "vitest";
import { ADA, scratchPlace } from "../../../../../../test/support/telegram-channel.ts";
import { Backlog } from "./backlog.ts";
import type { Written } from "./read-update.ts";

const NOW = 10_000_000;

function written(update_id: number, given: Partial<Written> = {}): Written {
  const text = `message ${update_id}`;
  return {
    kind: "written",
    update_id,
    message_id: update_id,
    chat: ADA,
    isPrivate: true,
    user: ADA,
    sent_at: NOW,
    text,
    ...given,
  };
}

test("the stored backlog survives a kill, and updates that are delivered again are not counted twice", async () => {
  const { store } = await scratchPlace();
  const options = { store, bot_id: 1, clock: () => NOW, allowed: new Set([ADA]), window_ms: 1000, max_messages: 3 };
  const first = await Backlog.open(options);
  for (let id = 1; id <= 5; id++) first.add(id, written(id));
  first.add(6, written(6, { sent_at: 0 }));
  await first.keep();

  const next = await Backlog.open(options);
  for (let id = 1; id <= 7; id++) next.add(id, written(id));
  expect(next.incoming.map(({ update_id }) => update_id)).toEqual([4, 5, 7]);
  expect(next.left).toEqual([[{ chat: ADA }, 4]]);
  await next.clear();
  expect((await Backlog.open(options)).incoming).toEqual([]);
});

test("strangers and buttons do not displace messages", async () => {
  const { store } = await scratchPlace();
  const options = { store, bot_id: 1, clock: () => NOW, allowed: new Set([ADA]), window_ms: 1000, max_messages: 1 };
  const backlog = await Backlog.open(options);
  backlog.add(1, written(1));
  backlog.add(2, written(2, { user: 7, chat: 7 }));
  backlog.add(3, { kind: "pressed", update_id: 3, query_id: "q", user: ADA, data: "y" });
  backlog.add(4, written(4, { user: 7, chat: 7, sent_at: 0 }));
  backlog.add(5, undefined);
  expect(backlog.incoming.map(({ update_id }) => update_id)).toEqual([1, 2, 3]);
  expect(backlog.left).toEqual([]);
});

test("however much strangers write and press, little of it is kept, and nothing that they wrote", async () => {
  const { store } = await scratchPlace();
  const options = { store, bot_id: 1, clock: () => NOW, allowed: new Set([ADA]), window_ms: 1000, max_messages: 3 };
  const backlog = await Backlog.open(options);
  const text = "a secret of a user".repeat(200);
  for (let id = 1; id <= 5000; id += 5) {
    backlog.add(id, written(id, { user: 7, chat: -5, isPrivate: false, text }));
    const files = [{ kind: "document", name: text, remote: "x" }];
    const quotations = [{ heading: text, text }];
    backlog.add(id + 1, written(id + 1, { user: 7, chat: 7, text, unread: "poll", files, quotations, album: "1" }));
    backlog.add(id + 2, written(id + 2, { user: 1000 + id, chat: 1000 + id, text }));
    backlog.add(id + 3, { kind: "pressed", update_id: id + 3, query_id: "q", user: 7, data: "y" });
    backlog.add(id + 4, { kind: "pressed", update_id: id + 4, query_id: "q", user: ADA, data: "y" });
  }
  backlog.add(5001, written(5001));
  await backlog.keep();
  expect((await store.kv.get("telegram:backlog:1"))?.length).toBeLessThan(50_000);
  const { incoming } = await Backlog.open(options);
  expect(incoming).toEqual(backlog.incoming);
  expect(incoming.filter(({ user }) => user === 7)).toEqual([written(2, { user: 7, chat: 7, text: "" })]);
  expect(incoming.filter(({ kind, user }) => kind === "written" && user !== ADA)).toHaveLength(100);
  expect(incoming.filter(({ kind }) => kind === "pressed")).toHaveLength(200);
  expect(incoming.at(-1)?.update_id).toBe(5001);
});
