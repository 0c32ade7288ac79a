import { expect, test } from "vitest";
import type { ModelProvider, ModelReply } from "../model/provider.ts";
import { limitInFlight } from "./in-flight.ts";

const REQUEST = { system: "", messages: [], rounds: 0, tools: [] };
const REPLY: ModelReply = { kind: "plain", text: "", finish: "stop" };

/** A provider whose requests end when the test says so. */
function held(): ModelProvider & { readonly open: (() => void)[]; readonly failing: (() => void)[] } {
  const open: (() => void)[] = [];
  const failing: (() => void)[] = [];
  const complete = (): Promise<ModelReply> =>
    new Promise((resolve, reject) => {
      open.push(() => resolve(REPLY));
      failing.push(() => reject(new Error("failed")));
    });
  return { name: "test:held", open, failing, complete };
}

const signal = new AbortController().signal;
const settle = (): Promise<void> => new Promise(setImmediate);

test("at most the allowed number of requests run in parallel, and the others follow in order", async () => {
  const inner = held();
  const provider = limitInFlight(inner, 2);
  const asked = [1, 2, 3, 4].map(() => provider.complete(REQUEST, { signal }));
  await settle();
  expect(inner.open).toHaveLength(2);
  inner.open[0]?.();
  await asked[0];
  await settle();
  expect(inner.open).toHaveLength(3);
  inner.failing[1]?.();
  await expect(asked[1]).rejects.toThrow("failed");
  await settle();
  expect(inner.open).toHaveLength(4);
  for (const end of inner.open) end();
  await Promise.all([asked[2], asked[3]]);
});

test("a request that is aborted while it waits takes no slot", async () => {
  const inner = held();
  const provider = limitInFlight(inner, 1);
  const first = provider.complete(REQUEST, { signal });
  const stop = new AbortController();
  const second = provider.complete(REQUEST, { signal: stop.signal });
  const third = provider.complete(REQUEST, { signal });
  stop.abort(new Error("enough"));
  await expect(second).rejects.toThrow("enough");
  inner.open[0]?.();
  await first;
  await settle();
  expect(inner.open).toHaveLength(2);
  inner.open[1]?.();
  await third;
});

test("a fallback model has a limit of its own", async () => {
  const [inner, other] = [held(), held()];
  const provider = limitInFlight({ ...inner, fallbacks: [other] }, 1);
  const [fallback = provider] = provider.fallbacks ?? [];
  const asked = [provider, fallback, fallback].map((each) => each.complete(REQUEST, { signal }));
  await settle();
  expect([inner.open.length, other.open.length]).toEqual([1, 1]);
  inner.open[0]?.();
  other.open[0]?.();
  await Promise.all(asked.slice(0, 2));
  await settle();
  expect(other.open).toHaveLength(2);
  other.open[1]?.();
  await asked[2];
});
