import fc from "fast-check";
import { expect, test } from "vitest";
import { HeadTail } from "./head-tail.ts";

test("beginning and end are kept exactly, however the stream is cut into pieces", () => {
  const limits = fc.record({ head_bytes: fc.nat(20), tail_bytes: fc.nat(20) });
  fc.assert(
    fc.property(limits, fc.array(fc.uint8Array({ maxLength: 30 })), (limit, pieces) => {
      const all = Buffer.concat(pieces);
      const keeper = new HeadTail(limit);
      for (const piece of pieces) keeper.add(piece);
      const { head, tail, bytes, left_out } = keeper.kept();

      expect(bytes).toBe(all.length);
      expect(head).toEqual(all.subarray(0, limit.head_bytes));
      const rest = all.subarray(head.length);
      expect(tail).toEqual(rest.subarray(Math.max(0, rest.length - limit.tail_bytes)));
      expect(left_out).toBe(all.length - head.length - tail.length);
    }),
  );
});
