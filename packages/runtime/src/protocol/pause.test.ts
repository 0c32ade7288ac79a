import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { pause, pauseUntilAborted, unlessAborted } from "./pause.ts";

const LONG_MS = 3_600_000;

test("pause throws the reason of a signal that is aborted before or meanwhile, and leaves no listener", async () => {
  const stopping = new AbortController();
  const waiting = pause(LONG_MS, { signal: stopping.signal });
  stopping.abort(new Error("stopped"));

  await expect(waiting).rejects.toThrow("stopped");
  await expect(pause(LONG_MS, { signal: stopping.signal })).rejects.toThrow("stopped");
  expect(getEventListeners(stopping.signal, "abort")).toEqual([]);
});

test("pauseUntilAborted reports whether the time was over", async () => {
  const stopping = new AbortController();

  expect(await pauseUntilAborted(1, stopping.signal)).toBe(true);
  const waiting = pauseUntilAborted(LONG_MS, stopping.signal);
  stopping.abort(new Error("stopped"));
  expect(await waiting).toBe(false);
});

test("unlessAborted returns the result, the work's error, or the reason of the signal", async () => {
  const { signal } = new AbortController();
  const stopped = AbortSignal.abort(new Error("stopped"));

  expect(await unlessAborted(Promise.resolve(7), signal)).toBe(7);
  await expect(unlessAborted(Promise.reject(new Error("failed")), signal)).rejects.toThrow("failed");
  await expect(unlessAborted(Promise.resolve(7), stopped)).rejects.toThrow("stopped");
  await expect(unlessAborted(Promise.reject(new Error("failed")), stopped)).rejects.toThrow("stopped");
});
