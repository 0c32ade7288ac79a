import fc from "fast-check";
import { expect, test } from "vitest";
import { MESSAGE_LIMIT, splitText } from "./split-text.ts";

const texts = (text: string, limit: number): readonly string[] => splitText(text, limit).map((part) => part.text);

// oxfmt-ignore
const CASES = [
  { title: "a short text stays one",              text: "hello",                     limit: 10, gives: ["hello"] },
  { title: "nothing gives nothing",               text: " \n\n ",                    limit: 10, gives: [] },
  { title: "a paragraph ends before a line",      text: "aaaa\nbb\n\ncccc dddd",     limit: 12, gives: ["aaaa\nbb", "cccc dddd"] },
  { title: "a line ends before a word",           text: "aaaa bb\ncccc dddd",        limit: 12, gives: ["aaaa bb", "cccc dddd"] },
  { title: "a sentence ends before a word",       text: "Aaa bb. Cc dd ee",          limit: 12, gives: ["Aaa bb.", "Cc dd ee"] },
  { title: "words stay whole",                    text: "aaaa bbbb cccc",            limit: 10, gives: ["aaaa bbbb", "cccc"] },
  { title: "what has no border is cut",           text: "abcdefghijkl",              limit: 5,  gives: ["abcde", "fghij", "kl"] },
  { title: "no character is cut in two",          text: "aaaa😀😀😀",                  limit: 5,  gives: ["aaaa", "😀😀", "😀"] },
  { title: "a border that is too early is none",  text: "a\n\nbbbbbbbbbbbbbb",       limit: 10, gives: ["a\n\nbbbbbbb", "bbbbbbb"] },
] as const;

for (const { title, text, limit, gives } of CASES) {
  test(title, () => {
    expect(texts(text, limit)).toEqual(gives);
  });
}

test("fences become blocks of code with their language, and what is between them is left alone", () => {
  expect(splitText("See:\n```ts\nconst a = `x`;\n```\nand **this**\n~~~\nb\n~~~")).toEqual([
    {
      text: "See:\nconst a = `x`;\nand **this**\nb",
      entities: [
        { type: "pre", offset: 5, length: 14, language: "ts" },
        { type: "pre", offset: 33, length: 1 },
      ],
    },
  ]);
});

test("a block that fits one message is not cut, and one that does not goes on as a block", () => {
  const code = "x = 1\ny = 2\nz = 3";
  const [first, second] = splitText(`${"word ".repeat(5)}\n\`\`\`py\n${code}\n\`\`\``, 30);
  expect(first).toEqual({ text: "word word word word word", entities: [] });
  expect(second).toEqual({ text: code, entities: [{ type: "pre", offset: 0, length: code.length, language: "py" }] });

  const parts = splitText(`\`\`\`py\n${code}\n\`\`\`\nend`, 12);
  expect(parts.map(({ text, entities }) => [text, entities.map(({ offset, length }) => [offset, length])])).toEqual([
    ["x = 1\ny = 2", [[0, 11]]],
    ["z = 3\nend", [[0, 5]]],
  ]);
});

test("a fence that is never closed holds what follows, and an empty one nothing", () => {
  expect(splitText("```sh\nls")).toEqual([
    { text: "ls", entities: [{ type: "pre", offset: 0, length: 2, language: "sh" }] },
  ]);
  expect(splitText("a\n```\n```\nb")).toEqual([{ text: "a\nb", entities: [] }]);
});

const line = fc.oneof(
  fc.constantFrom(
    "```",
    "```ts",
    "~~~~",
    "",
    "  ",
    "A sentence. Another one! And…",
    "word ".repeat(30),
    "x".repeat(90),
  ),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.string({ unit: "grapheme", maxLength: 40 }),
);
const text = fc.array(line, { maxLength: 60 }).map((lines) => lines.join("\n"));

test("whatever a text holds: no part is empty or too long, none cuts a character, and together they are the text", () => {
  fc.assert(
    fc.property(text, fc.integer({ min: 2, max: 200 }), (given, limit) => {
      const whole = splitText(given, Number.MAX_SAFE_INTEGER)[0]?.text ?? "";
      let at = 0;
      for (const part of splitText(given, limit)) {
        expect(part.text.trim()).not.toBe("");
        expect(part.text.length).toBeLessThanOrEqual(limit);
        expect(part.text.isWellFormed()).toBe(true);
        const found = whole.indexOf(part.text, at);
        expect(whole.slice(at, found).trim()).toBe("");
        at = found + part.text.length;
      }
      expect(whole.slice(at).trim()).toBe("");
    }),
  );
});

test("whatever a text holds: blocks lie inside their part, do not overlap, and hold the same code as before the cut", () => {
  fc.assert(
    fc.property(text, fc.integer({ min: 20, max: 200 }), (given, limit) => {
      const codeOf = (parts: ReturnType<typeof splitText>): string =>
        parts
          .flatMap(({ text: said, entities }) =>
            entities.map(({ offset, length }) => said.slice(offset, offset + length)),
          )
          .join("")
          .replaceAll(/\s/g, "");
      const parts = splitText(given, limit);
      for (const { text: said, entities } of parts) {
        let end = 0;
        for (const { offset, length } of entities) {
          expect(offset).toBeGreaterThanOrEqual(end);
          expect(length).toBeGreaterThan(0);
          end = offset + length;
        }
        expect(end).toBeLessThanOrEqual(said.length);
      }
      const whole = splitText(given, Number.MAX_SAFE_INTEGER);
      if ((whole[0]?.entities.length ?? 0) < 100) expect(codeOf(parts)).toBe(codeOf(whole));
    }),
  );
});

test("a very long text is split in a time that grows with its length", () => {
  const many = "```\na\n```\n".repeat(50_000);
  const parts = splitText(many);
  expect(parts.every((part) => part.text.length <= MESSAGE_LIMIT && part.entities.length <= 100)).toBe(true);
  expect(
    splitText(`${" ".repeat(200_000)}x`)
      .at(-1)
      ?.text.trim(),
  ).toBe("x");
});
