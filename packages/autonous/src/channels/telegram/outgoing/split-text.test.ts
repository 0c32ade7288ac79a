import { expect, test } from "vitest";
import { markdownRich } from "./rich-markdown.ts";
import { plainText } from "./rich-text.ts";
import { MESSAGE_LIMIT, splitText } from "./split-text.ts";

const texts = (text: string, limit: number): readonly string[] =>
  splitText(plainText(text), limit).map((part) => part.text);

// oxfmt-ignore
const CASES = [
  { title: "a short text stays one",              text: "hello",                     limit: 10, gives: ["hello"] },
  { title: "nothing gives nothing",               text: " \n\n ",                    limit: 10, gives: [] },
  { title: "a paragraph ends before a line",      text: "aaaa\nbb\n\ncccc dddd",     limit: 12, gives: ["aaaa\nbb", "cccc dddd"] },
  { title: "a line ends before a word",           text: "aaaa bb\ncccc dddd",        limit: 12, gives: ["aaaa bb", "cccc dddd"] },
  { title: "a sentence ends before a word",       text: "Aaa bb. Cc dd ee",          limit: 12, gives: ["Aaa bb.", "Cc dd ee"] },
  { title: "words are not split",                 text: "aaaa bbbb cccc",            limit: 10, gives: ["aaaa bbbb", "cccc"] },
  { title: "what has no border is cut",           text: "abcdefghijkl",              limit: 5,  gives: ["abcde", "fghij", "kl"] },
  { title: "no character is cut in two",          text: "aaaa😀😀😀",                  limit: 5,  gives: ["aaaa", "😀😀", "😀"] },
  { title: "a border that is too early is none",  text: "a\n\nbbbbbbbbbbbbbb",       limit: 10, gives: ["a\n\nbbbbbbb", "bbbbbbb"] },
] as const;

for (const { title, text, limit, gives } of CASES) {
  test(title, () => {
    expect(texts(text, limit)).toEqual(gives);
  });
}

const split = (text: string, limit?: number): ReturnType<typeof splitText> => splitText(markdownRich(text), limit);

test("a block that fits one message is not cut, and one that does not goes on as a block", () => {
  const code = "x = 1\ny = 2\nz = 3";
  const [first, second] = split(`${"word ".repeat(5)}\n\`\`\`py\n${code}\n\`\`\``, 30);
  expect(first).toEqual({ text: "word word word word word", entities: [] });
  expect(second).toEqual({ text: code, entities: [{ type: "pre", offset: 0, length: code.length, language: "py" }] });

  const parts = split(`\`\`\`py\n${code}\n\`\`\`\nend`, 12);
  expect(parts.map(({ text, entities }) => [text, entities.map(({ offset, length }) => [offset, length])])).toEqual([
    ["x = 1\ny = 2", [[0, 11]]],
    ["z = 3\nend", [[0, 5]]],
  ]);
});

test("formatting goes on behind a cut", () => {
  expect(split("> **aaaa bbbb** [cccc dddd](https://a.b)", 12)).toEqual([
    {
      text: "aaaa bbbb",
      entities: [
        { type: "blockquote", offset: 0, length: 9 },
        { type: "bold", offset: 0, length: 9 },
      ],
    },
    {
      text: "cccc dddd",
      entities: [
        { type: "blockquote", offset: 0, length: 9 },
        { type: "text_link", url: "https://a.b", offset: 0, length: 9 },
      ],
    },
  ]);
});

test("a message with more formatting than Telegram takes is cut before it, so that all of it is seen", () => {
  const text = Array.from({ length: 250 }, (_, i) => `- \`file-${i}.ts\``).join("\n");
  const parts = split(text);
  expect(parts.map(({ entities }) => entities.length)).toEqual([100, 100, 50]);
});

test("a very long text is split in a time that grows with its length", () => {
  const many = "```\na\n```\n".repeat(50_000);
  const parts = split(many);
  expect(parts.every((part) => part.text.length <= MESSAGE_LIMIT && part.entities.length <= 100)).toBe(true);
  expect(
    splitText(plainText(`${" ".repeat(200_000)}x`))
      .at(-1)
      ?.text.trim(),
  ).toBe("x");
});
