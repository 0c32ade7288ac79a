import { expect, test } from "vitest";
import { makeId, makeTraceId } from "./ids.ts";

test("ids sort by the time they were made, also within a millisecond and when the clock goes back", () => {
  const times = [1000, 1000, 1000, 1001, 999, 2000, 1500, Date.now(), Date.now()];
  const ids = times.map((time) => makeId("evt", time));
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
});

test("a million ids of one millisecond are all different and in order", () => {
  let last = "";
  for (let i = 0; i < 1_000_000; i++) {
    const id = makeId("call", 5);
    if (id <= last) expect.unreachable(`${id} after ${last}`);
    last = id;
  }
});

test("an id says what it is of and how long it is", () => {
  expect(makeId("run", Date.now())).toMatch(/^run_[0-9a-hjkmnp-tv-z]{26}$/);
  expect(makeTraceId()).toMatch(/^[0-9a-f]{32}$/);
});
