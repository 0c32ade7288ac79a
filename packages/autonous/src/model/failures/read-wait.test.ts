import { expect, test } from "vitest";
import { readWait } from "./read-wait.ts";

const NOW = Date.parse("2026-11-15T12:00:00Z");

// oxfmt-ignore
const WAITS: readonly { headers?: Record<string, string>; body?: string; waits: number | undefined }[] = [
  { headers: {},                                                                                                waits: undefined },
  { headers: { "retry-after": "7" },                                                                            waits: 7000 },
  { headers: { "retry-after": " 1.5 " },                                                                        waits: 1500 },
  { headers: { "retry-after": "Sun, 15 Nov 2026 12:00:30 GMT" },                                                waits: 30_000 },
  { headers: { "retry-after": "Sun, 15 Nov 2026 11:00:00 GMT" },                                                waits: 0 },
  { headers: { "retry-after": "soon" },                                                                         waits: undefined },
  { headers: { "retry-after": "-5" },                                                                           waits: undefined },
  { headers: { "retry-after": "99999999999999" },                                                               waits: undefined },
  { headers: { "retry-after-ms": "120", "retry-after": "7" },                                                   waits: 120 },
  { body: '{"error":{"details":[{"@type":"RetryInfo","retryDelay": "34.5s"}]}}',                                waits: 34_500 },
  { headers: { "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s" },                       waits: 360_000 },
  { headers: { "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "120ms" },                  waits: 120 },
  { headers: { "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1h2m3.5s" },               waits: 3_723_500 },
  { headers: { "x-ratelimit-remaining-requests": "3", "x-ratelimit-reset-requests": "1s" },                     waits: undefined },
  { headers: { "anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": "2026-11-15T12:00:10Z" }, waits: 10_000 },
];

test.each(WAITS)("$headers $body asks to wait $waits ms", ({ headers = {}, body = "", waits }) => {
  expect(readWait(headers, body, NOW)).toBe(waits);
});
