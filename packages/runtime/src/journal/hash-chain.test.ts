import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson } from "../protocol/canonical.ts";
import type { EventDraft } from "../protocol/event-record.ts";
import { chainEvents, EMPTY_TAIL, hashOfEvent, isSealedLine, lineOf } from "./hash-chain.ts";

function draft(payload: EventDraft["payload"]): EventDraft {
  return {
    event_id: "evt_1",
    ts: "2026-01-01T00:00:00.000Z",
    type: "display",
    trace_id: "t",
    task_id: null,
    run_id: "run_1",
    parent_id: null,
    payload,
  };
}

test("the hash is sha256 of the hash before it and the canonical event without its own", () => {
  const [first, second] = chainEvents([draft({ b: 1, a: "é" }), draft({})], EMPTY_TAIL);
  const { hash, ...rest } = first!.event;
  const sorted = `{"event_id":"evt_1","parent_id":null,"payload":{"a":"é","b":1},"prev_hash":"${"0".repeat(64)}","run_id":"run_1","seq":1,"task_id":null,"trace_id":"t","ts":"2026-01-01T00:00:00.000Z","type":"display"}`;
  expect(canonicalJson(rest)).toBe(sorted);
  expect(hash).toBe(
    createHash("sha256")
      .update("0".repeat(64) + sorted)
      .digest("hex"),
  );
  expect(second!.event.prev_hash).toBe(hash);
  expect(second!.event.seq).toBe(2);
});

test("a line can be checked as it stands, and by what it says", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue()), (payload) => {
      const [chained] = chainEvents([draft(payload)], EMPTY_TAIL);
      const parsed = JSON.parse(chained!.line) as typeof chained extends undefined
        ? never
        : NonNullable<typeof chained>["event"];
      expect(isSealedLine(chained!.line, parsed)).toBe(true);
      expect(hashOfEvent(parsed)).toBe(parsed.hash);
      expect(lineOf(parsed)).toBe(chained!.line);
    }),
  );
});

// The examples of RFC 8785, section 3.2.3 and appendix B.
// oxfmt-ignore
const CANONICAL = [
  { value: { "\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\ud83d\ude00": 5, "\u0080": 6, "ö": 7 }, want: '{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}' },
  { value: [333_333_333.333_333_3, 1e30, 4.5, 2e-3, 1e-27], want: "[333333333.3333333,1e+30,4.5,0.002,1e-27]" },
  { value: { a: undefined, b: [null, true] },            want: '{"b":[null,true]}' },
  { value: -0,                                           want: "0" },
] as const;

for (const { value, want } of CANONICAL) {
  test(`${want} is canonical`, () => {
    expect(canonicalJson(value)).toBe(want);
  });
}
