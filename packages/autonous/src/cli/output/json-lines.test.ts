import { Buffer } from "node:buffer";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseJson, readAll, readJsonLines } from "./json-lines.ts";
import type { JsonLine } from "./json-lines.ts";

async function* pieces(...chunks: readonly (string | Buffer)[]): AsyncIterable<Buffer> {
  for (const chunk of chunks) yield await Promise.resolve(Buffer.from(chunk));
}

async function all(input: AsyncIterable<Buffer>): Promise<JsonLine[]> {
  const lines: JsonLine[] = [];
  for await (const line of readJsonLines(input)) lines.push(line);
  return lines;
}

// oxfmt-ignore
const CASES: readonly { readonly title: string; readonly chunks: readonly (string | Buffer)[]; readonly lines: readonly unknown[] }[] = [
  { title: "nothing",                            chunks: [],                     lines: [] },
  { title: "an empty piece",                     chunks: [""],                   lines: [] },
  { title: "two lines",                          chunks: ["1\n2\n"],             lines: [{ value: 1 }, { value: 2 }] },
  { title: "a last line without its end",        chunks: ["1\n2"],               lines: [{ value: 1 }, { value: 2 }] },
  { title: "a line in pieces",                   chunks: ['{"a', '":', "1}\n"],  lines: [{ value: { a: 1 } }] },
  { title: "a character in pieces",              chunks: [Buffer.from([0x22, 0xc3]), Buffer.from([0xa9, 0x22, 0x0a])], lines: [{ value: "é" }] },
  { title: "the line end of Windows",            chunks: ["1\r\n2\r\n"],         lines: [{ value: 1 }, { value: 2 }] },
  { title: "a byte order mark",                  chunks: ["\ufeff1\n"],          lines: [{ value: 1 }] },
  { title: "blank lines",                        chunks: ["\n \n1\n\n"],         lines: [{ problem: "The line is empty" }, { problem: "The line is empty" }, { value: 1 }, { problem: "The line is empty" }] },
  { title: "an object with a name twice",        chunks: ['{"a":{"b":1,"\\u0062":2}}\n1\n'], lines: [{ problem: expect.stringMatching(/^The line is not valid JSON \(Duplicate name in an object/) as string }, { value: 1 }] },
  { title: "bytes that are not text",            chunks: [Buffer.from([0xff, 0x0a]), "1\n"], lines: [{ problem: "The line is not UTF-8" }, { value: 1 }] },
  { title: "a surrogate in bytes",               chunks: [Buffer.from([0xed, 0xa0, 0x80, 0x0a])], lines: [{ problem: "The line is not UTF-8" }] },
];

for (const { title, chunks, lines } of CASES) {
  test(`each line of ${title} is read separately`, async () => {
    expect(await all(pieces(...chunks))).toEqual(lines);
  });
}

test("a line that is too long is rejected without buffering it, and the next one is read", async () => {
  const block = Buffer.alloc(1024 * 1024, "x");
  async function* input(): AsyncIterable<Buffer> {
    for (let i = 0; i < 65; i++) yield await Promise.resolve(block);
    yield Buffer.from("\n7\n");
    for (let i = 0; i < 65; i++) yield block;
  }
  const tooLong = { problem: "The line is longer than 67108864 bytes" };
  expect(await all(input())).toEqual([tooLong, { value: 7 }, tooLong]);
});

test("however the input is cut into pieces, the lines are the same", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.json(), { maxLength: 5 }), fc.array(fc.nat(200)), async (texts, cuts) => {
      const bytes = Buffer.from(texts.map((text) => `${text}\n`).join(""));
      const places = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
      const chunks = places.slice(1).map((end, i) => bytes.subarray(places[i], end));
      expect(await all(pieces(...chunks))).toEqual(texts.map((text) => ({ value: JSON.parse(text) as unknown })));
    }),
  );
});

test("the error for invalid JSON contains no part of the text", () => {
  for (const text of ["hunter2hunter2", '{"password":hunter2hunter2}', '{"a":"hunter2', '["hunter2",,]']) {
    const parsed = parseJson(text, "Not valid JSON");
    expect(parsed).toEqual({ problem: expect.stringMatching(/^Not valid JSON \(.+\)$/) as string });
    expect(JSON.stringify(parsed)).not.toContain("hunter2");
  }
});

test("all of the input is read as one text", async () => {
  expect(await readAll(pieces(Buffer.from([0xc3]), Buffer.from([0xa9]), "!"))).toBe("é!");
});
