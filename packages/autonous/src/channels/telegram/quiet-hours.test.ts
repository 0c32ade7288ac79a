import { expect, test } from "vitest";
import { makeRequest } from "../../../../../test/support/approval-request.ts";
import { scratchPlace } from "../../../../../test/support/telegram-channel.ts";
import { isQuietAt } from "./channel.ts";

const NIGHT = { from_minute: 22 * 60, to_minute: 7 * 60, time_zone: "UTC" };
const NOON = { from_minute: 12 * 60, to_minute: 13 * 60 + 30, time_zone: "Asia/Kolkata" };

// oxfmt-ignore
const TIMES = [
  { hours: NIGHT, at: "2026-01-01T21:59:59Z", isQuiet: false },
  { hours: NIGHT, at: "2026-01-01T22:00:00Z", isQuiet: true },
  { hours: NIGHT, at: "2026-01-02T00:00:00Z", isQuiet: true },
  { hours: NIGHT, at: "2026-01-02T06:59:59Z", isQuiet: true },
  { hours: NIGHT, at: "2026-01-02T07:00:00Z", isQuiet: false },
  { hours: NOON,  at: "2026-01-01T06:29:00Z", isQuiet: false },
  { hours: NOON,  at: "2026-01-01T06:30:00Z", isQuiet: true },
  { hours: NOON,  at: "2026-01-01T08:00:00Z", isQuiet: false },
] as const;

for (const { hours, at, isQuiet } of TIMES) {
  test(`${at} is ${isQuiet ? "" : "not "}within ${hours.from_minute / 60} to ${hours.to_minute / 60} of ${hours.time_zone}`, () => {
    expect(isQuietAt(hours, Date.parse(at))).toBe(isQuiet);
  });
}

test("in quiet hours everything is sent at once and without a sound, questions too", async () => {
  const place = await scratchPlace();
  const minute = (ms: number): number => Math.floor(ms / 60_000) % (24 * 60);
  const quiet_hours = {
    from_minute: minute(Date.now() - 600_000),
    to_minute: minute(Date.now() + 3_600_000),
    time_zone: "UTC",
  };
  await place.open({ quiet_hours });
  place.telegram.say({ text: "/status" });
  place.telegram.say({ text: "what is there?" });
  const lease = await place.claim();
  const { task_id, run_id } = lease.task;
  await place.store.approvals.open(makeRequest({ now: Date.now(), task_id, run_id }));
  await place.store.inbox.finish(lease, { outcome: "done", reply: "**nothing**" });
  place.notifier.notify();
  await place.telegram.until(() => place.telegram.answers().length === 3, "the answers");
  expect(place.telegram.answers().map(({ is_silent }) => is_silent)).toEqual([true, true, true]);
});
