import fc from "fast-check";
import { expect, test } from "vitest";
import { excerptHead } from "./excerpt.ts";

// oxfmt-ignore
const CASES = [
  { title: "text within both limits is left alone",           text: "a\nb\n",      lines: 2, bytes: 100, want: "a\nb\n",  cut: "" },
  { title: "a last line without an end counts as a line",     text: "a\nb\nc",     lines: 3, bytes: 100, want: "a\nb\nc", cut: "" },
  { title: "too many lines are cut after a whole line",       text: "a\nb\nc\n",   lines: 2, bytes: 100, want: "a\nb\n",  cut: "lines" },
  { title: "too many bytes are cut after a whole line",       text: "aaa\nbbb\n",  lines: 9, bytes: 6,   want: "aaa\n",   cut: "bytes" },
  { title: "one line over the limit is cut inside",           text: "aaaaaaaa",    lines: 9, bytes: 3,   want: "aaa",     cut: "bytes" },
  { title: "a character is never cut",                        text: "ééé",         lines: 9, bytes: 3,   want: "é",       cut: "bytes" },
  { title: "a surrogate pair is never cut",                   text: "😀😀",        lines: 9, bytes: 7,   want: "😀",      cut: "bytes" },
  { title: "exactly the limit fits",                          text: "é\n",         lines: 1, bytes: 3,   want: "é\n",     cut: "" },
  { title: "nothing is nothing",                              text: "",            lines: 1, bytes: 1,   want: "",        cut: "" },
  { title: "when both are over, the earlier cut counts",      text: "aa\nbb\ncc\n", lines: 2, bytes: 4,  want: "aa\n",    cut: "bytes" },
] as const;

for (const { title, text, lines, bytes, want, cut } of CASES) {
  test(title, () => {
    expect(excerptHead(text, { lines, bytes })).toEqual({
      text: want,
      truncated_lines: cut === "lines",
      truncated_bytes: cut === "bytes",
    });
  });
}

test("an excerpt is a beginning of the text, within both limits, and says when it is not all of it", () => {
  const text = fc.array(fc.constantFrom("a", "é", "😀", "\n", "\r\n", "word ")).map((parts) => parts.join(""));
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 20 }), fc.integer({ min: 4, max: 60 }), (whole, lines, bytes) => {
      const { text: head, truncated_lines, truncated_bytes } = excerptHead(whole, { lines, bytes });
      expect(whole.startsWith(head)).toBe(true);
      expect(Buffer.byteLength(head)).toBeLessThanOrEqual(bytes);
      expect(head.split("\n").length - (head.endsWith("\n") ? 1 : 0)).toBeLessThanOrEqual(Math.max(lines, 1));
      expect(head === whole).toBe(!truncated_lines && !truncated_bytes);
      expect(head.isWellFormed()).toBe(true);
    }),
  );
});
