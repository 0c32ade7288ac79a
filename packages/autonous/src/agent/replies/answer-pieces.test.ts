import { expect, test } from "vitest";
import { joinPieces, dropPartialSecret } from "./answer-pieces.ts";

// oxfmt-ignore
const PIECES = [
  { title: "prose stays",                    piece: "The port is read from the environ",              kept: "The port is read from the environ" },
  { title: "half a key is left out",         piece: "Use sk-ant-api03-abcdef0123",                    kept: "Use " },
  { title: "half of a value in quotes",      piece: 'export TOKEN="ghp_16C7e42F292c69',               kept: 'export TOKEN="' },
  { title: "half of an assignment",          piece: "Set\nAWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI7MDENG", kept: "Set\n" },
  { title: "a short number stays",           piece: "It listens on port 80",                          kept: "It listens on port 80" },
  { title: "a word alone stays",             piece: "0123456789abcdef",                               kept: "0123456789abcdef" },
  { title: "text without blanks stays",      piece: "这是一个没有空格的回答",                            kept: "这是一个没有空格的回答" },
] as const;

for (const { title, piece, kept } of PIECES)
  test(`a truncated part of an answer: ${title}`, () => expect(dropPartialSecret(piece)).toBe(kept));

test("a megabyte without white space is processed in linear time", () => {
  const piece = `${"a1".repeat(500_000)} ${"b2".repeat(500_000)}`;
  expect(dropPartialSecret(piece)).toHaveLength(1_000_001 + 1_000_000 - 2000);
});

test("parts are joined without repeated text", () => {
  const line = "The second line of the answer is long enough.";
  expect(joinPieces([`First.\n${line}`, `${line} And more.`])).toBe(`First.\n${line} And more.`);
  expect(joinPieces(["Set TOKEN to ", "abc123 and go on."])).toBe("Set TOKEN to abc123 and go on.");
});
