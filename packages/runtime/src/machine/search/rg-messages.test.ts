import fc from "fast-check";
import { expect, test } from "vitest";
import { MessageReader } from "./rg-messages.ts";
import type { LineMessage, Message } from "./rg-messages.ts";

interface Line {
  readonly path: string;
  readonly lines: string | Buffer;
  readonly starts?: readonly number[];
}

/** In the format of `rg --json`. */
function write({ path, lines, starts = [0] }: Line): string {
  const data = {
    path: { text: path },
    lines: typeof lines === "string" ? { text: lines } : { bytes: lines.toString("base64") },
    line_number: 7,
    absolute_offset: 70,
    submatches: starts.map((start) => ({ match: { text: 'm"\\},"line_number":1,"end":' }, start, end: start + 1 })),
  };
  return `${JSON.stringify({ type: "match", data })}\n`;
}

function readIn(text: string, sizes: readonly number[]): Message[] {
  const reader = new MessageReader();
  const bytes = Buffer.from(text);
  const messages: Message[] = [];
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? bytes.length;
    messages.push(...reader.push(Buffer.from(bytes.subarray(at, at + size))));
    at += size;
  }
  return messages;
}

const SIZES = fc.array(fc.integer({ min: 1, max: 70_000 }), { minLength: 1, maxLength: 4 });

test("messages are parsed the same, however the stream is split into chunks", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 40 });
  const line = fc.record({ path: text, lines: text, starts: fc.array(fc.nat(30), { maxLength: 3 }) });
  fc.assert(
    fc.property(fc.array(line, { maxLength: 5 }), SIZES, (lines, sizes) => {
      const messages = readIn(lines.map(write).join(""), sizes) as LineMessage[];
      expect(messages.map(({ head, start }) => ({ head, start }))).toEqual(
        lines.map(({ lines: head, starts }) => ({ head, start: starts[0] ?? 0 })),
      );
      expect(messages.every(({ line: number, offset }) => number === 7 && offset === 70)).toBe(true);
    }),
  );
});

test("the beginning of a long message is kept, and its path, offset and length are correct", () => {
  const unit = fc.constantFrom("a", "é", "世", "😀", '"', "\\", "\u0001", "\n", "ab\\");
  fc.assert(
    fc.property(fc.string({ unit, minLength: 5, maxLength: 50 }), SIZES, (piece, sizes) => {
      const lines = piece.repeat(Math.ceil(200_000 / piece.length));
      const path = `./x"\n${piece}`;
      const [message] = readIn(write({ path, lines, starts: [3, 4] }), sizes) as LineMessage[];
      expect(message).toMatchObject({ line: 7, offset: 70, start: 3, length: Buffer.byteLength(lines) });
      expect(Buffer.from(message?.key ?? "", "latin1").toString()).toBe(path);
      expect(lines.startsWith(message?.head as string)).toBe(true);
      expect(message?.headLength).toBe(Buffer.byteLength(message?.head ?? ""));
      expect(message?.headLength).toBeGreaterThan(5000);
    }),
    { numRuns: 30 },
  );
});

test("a short line with very many matches is kept completely", () => {
  const starts = Array.from({ length: 50_000 }, (_, index) => index);
  const [message] = readIn(write({ path: "x", lines: "a line\n", starts }), [65_536]) as LineMessage[];
  expect(message).toMatchObject({ head: "a line\n", headLength: 7, length: 7, start: 0 });
});

test("a long line with invalid UTF-8 keeps its bytes and its length", () => {
  for (const extra of [0, 1, 2]) {
    const lines = Buffer.alloc(300_000 + extra, 0xff);
    const [message] = readIn(write({ path: "x", lines }), [1000]) as LineMessage[];
    expect(message?.length).toBe(lines.length);
    expect(lines.subarray(0, message?.headLength).equals(message?.head as Buffer)).toBe(true);
  }
});

test("only messages about lines and the summary are reported", () => {
  const others = ['{"type":"begin","data":{"path":{"text":"x"}}}', '{"type":"end","data":{"path":{"text":"x"}}}'];
  const summary = '{"data":{"elapsed_total":{}},"type":"summary"}';
  expect(readIn(`${[...others, summary].join("\n")}\n`, [10])).toEqual([{ type: "summary" }]);
});
