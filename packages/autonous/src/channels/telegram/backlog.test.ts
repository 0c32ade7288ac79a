import { expect, test } from "vitest";
import { ADA, scratchPlace } from "../../../../../test/support/telegram-channel.ts";
import { Backlog } from "./backlog.ts";
import type { Written } from "./incoming.ts";

const NOW = 10_000_000;

function written(update_id: number, given: Partial<Written> = {}): Written {
  const text = `message ${update_id}`;
  return { kind: "written", update_id, chat: ADA, isPrivate: true, user: ADA, sent_at: NOW, text, ...given };
}

test("what was kept survives a kill, and what is given again after it is not counted twice", async () => {
  const { store } = await scratchPlace();
  const options = { store, bot_id: 1, clock: () => NOW, allowed: new Set([ADA]), window_ms: 1000, max_messages: 3 };
  const first = await Backlog.open(options);
  for (let id = 1; id <= 5; id++) first.add(id, written(id));
  first.add(6, written(6, { sent_at: 0 }));
  await first.keep();

  const next = await Backlog.open(options);
  for (let id = 1; id <= 7; id++) next.add(id, written(id));
  expect(next.incoming.map(({ update_id }) => update_id)).toEqual([4, 5, 7]);
  expect(next.left).toEqual([[ADA, 4]]);
  await next.clear();
  expect((await Backlog.open(options)).incoming).toEqual([]);
});

test("strangers and buttons take nobody's place", async () => {
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
