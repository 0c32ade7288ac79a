import { expect, test } from "vitest";
import { PasteReader } from "./bracketed-paste.ts";

const paste = (text: string): string => `\u001b[200~${text}\u001b[201~`;

/** Each piece as its kind's first letter and its text. */
function read(chunks: readonly string[], most = 1000): string[] {
  const reader = new PasteReader(most);
  const pieces = chunks.flatMap((chunk) => reader.push(chunk));
  return pieces.map(({ kind, text }) => `${kind[0]}:${text}`);
}

// oxfmt-ignore
const CASES = [
  { title: "typed keys",                         chunks: ["ab", "c\r"],                                  pieces: ["t:ab", "t:c\r"] },
  { title: "a paste alone",                      chunks: [paste("a\rb")],                                pieces: ["p:a\nb"] },
  { title: "a paste between keys",               chunks: [`x${paste("a")}y\r`],                          pieces: ["t:x", "p:a", "t:y\r"] },
  { title: "two pastes",                         chunks: [paste("a") + paste("b")],                      pieces: ["p:a", "p:b"] },
  { title: "a paste in several pieces",          chunks: ["\u001b[200~a\r", "b\r", "c\u001b[201~"],      pieces: ["p:a\nb\nc"] },
  { title: "marks that are cut",                 chunks: ["x\u001b[20", "0~a\u001b[2", "01~y"],          pieces: ["t:x", "p:a", "t:y"] },
  { title: "line ends of every kind",            chunks: [paste("a\r\nb\rc\nd")],                        pieces: ["p:a\nb\nc\nd"] },
  { title: "keys that begin like the mark",      chunks: ["\u001b", "\u001b[", "\u001b[A", "\u001b[2~"], pieces: ["t:\u001b", "t:\u001b[", "t:\u001b[A", "t:\u001b[2~"] },
  { title: "what would act on a terminal",       chunks: [paste("a\u001b]0;t\u0007b\u0003\u0004\u009bc")], pieces: ["p:a]0;tbc"] },
  { title: "tabs",                               chunks: [paste("a\tb")],                                pieces: ["p:a\tb"] },
  { title: "a mark of the end that is typed",    chunks: ["\u001b[201~x"],                               pieces: ["t:\u001b[201~x"] },
  { title: "a mark of the start inside a paste", chunks: [paste("a\u001b[200~b")],                       pieces: ["p:a[200~b"] },
  { title: "an empty paste",                     chunks: [paste("")],                                    pieces: ["p:"] },
] as const;

for (const { title, chunks, pieces } of CASES)
  test(`input is read as typed or pasted: ${title}`, () => expect(read(chunks)).toEqual(pieces));

test("of a paste that is too long or never ends, only the beginning is buffered; later input is read", () => {
  const reader = new PasteReader(10);
  reader.push("\u001b[200~");
  for (let times = 0; times < 1000; times++) expect(reader.push("0123456789".repeat(100))).toEqual([]);
  expect(reader.push("end\u001b[20")).toEqual([]);
  expect(reader.push("1~x")).toEqual([
    { kind: "pasted", text: "0123456789" },
    { kind: "typed", text: "x" },
  ]);
  expect(reader.isCut).toBe(true);
  expect(reader.push(paste("short"))).toEqual([{ kind: "pasted", text: "short" }]);
  expect(reader.isCut).toBe(false);
});
