import fc from "fast-check";
import { expect, test } from "vitest";
import { OutputLines } from "./worker-output.ts";

function collect(chunks: readonly string[], clock: () => number = () => 0): string[] {
  const lines: string[] = [];
  const output = new OutputLines({ onLine: (line) => lines.push(line), clock });
  for (const chunk of chunks) output.take(chunk);
  output.end();
  return lines;
}

test("lines are the same however the text is split; empty ones are omitted", () => {
  const line = fc.string({ maxLength: 20 }).map((text) => text.replaceAll("\n", ""));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 50 }), fc.array(fc.nat(5), { maxLength: 200 }), (lines, sizes) => {
      const text = lines.join("\n");
      const chunks: string[] = [];
      let at = 0;
      for (const size of sizes) chunks.push(text.slice(at, (at += size)));
      chunks.push(text.slice(at));
      expect(collect(chunks)).toEqual(lines.filter((each) => each.trim() !== ""));
    }),
  );
});

test("an endless line takes no more memory than a long one", () => {
  const lines = collect(Array.from({ length: 1000 }, () => "x".repeat(10_000)));
  expect(lines).toEqual([`${"x".repeat(8192)}… (${10_000_000 - 8192} more characters)`]);
});

test("of an endless flow of lines a hundred per second are logged, and the others counted", () => {
  let now = 0;
  const lines: string[] = [];
  const output = new OutputLines({ onLine: (line) => lines.push(line), clock: () => now });
  for (let i = 0; i < 5000; i++) output.take(`${i}\n`);
  expect(lines).toHaveLength(100);
  now = 1000;
  output.take("later\n");
  expect(lines.slice(99)).toEqual(["99", "… and 4900 more lines", "later"]);
  now = -5000; // the clock was set back
  output.take("earlier\n");
  expect(lines.at(-1)).toBe("earlier");
});
