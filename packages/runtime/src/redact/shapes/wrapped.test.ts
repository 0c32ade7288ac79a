import { expect, test } from "vitest";
import { REDACTION_MARKER } from "../../protocol/marker.ts";
import { createRedactor, redact } from "../redact.ts";

/** Tokens are put together, so that none stands in this file. */
const MIXED = "a1B2c3D4e5F6g7H8j9K0m1N2p3Q4r5S6t7U8v9W0x1Y2z3";
const github = ["gh", "p_", MIXED.slice(0, 36)].join("");
const openai = ["sk", "-", MIXED, MIXED].join("");
const aws = ["AK", "IA", "A2B3C4D5E6F7G2H3"].join("");
const jwt = ["ey", "JhbGciOiJIUzI1NiJ9", ".ey", "JzdWIiOiIxMjM0NTY3ODkwIn0.", MIXED].join("");

const BREAKS = [
  "\n",
  "\r\n",
  "\n    ",
  "\\\n",
  "\\\n  ",
  "=\n",
  "=\r\n",
  "\n> ",
  '" +\n  "',
  '"\n"',
  "\\n",
  "\n+",
  "\n     2\t",
  "\n2: ",
  "\nsrc/a.env:2:",
];

for (const [kind, token] of Object.entries({ github, openai, aws, jwt })) {
  test.each(BREAKS)(`a token of ${kind} broken by %j is redacted in both lines`, (lineBreak) => {
    for (const at of [8, 12, token.length >> 1, token.length - 6]) {
      const text = `use ${token.slice(0, at)}${lineBreak}${token.slice(at)}\nthen go on\n`;
      const { text: left } = redact(text);
      expect(left).toBe(`use ${REDACTION_MARKER}\nthen go on\n`);
      for (let cut = 1; cut < text.length; cut += 3) {
        const stream = createRedactor().stream();
        expect(stream.push(text.slice(0, cut)) + stream.push(text.slice(cut)) + stream.end()).toBe(left);
      }
    }
  });
}

test("a whole token at the end of a line takes nothing of the next line with it", () => {
  for (const next of ["3f2a9c1e message", "Done", "12 files changed", "a1b2c3d4e5"]) {
    expect(redact(`token ${github}\n${next}\n`).text).toBe(`token ${REDACTION_MARKER}\n${next}\n`);
  }
  expect(redact(`${openai}\nnext line here\n`).text).toBe(`${REDACTION_MARKER}\nnext line here\n`);
});

const KNOWN = "correct-horse/7 battery+staple";

test.each(BREAKS.slice(0, 7))("a known value broken by %j is found", (lineBreak) => {
  for (let at = 4; at < KNOWN.length; at += 3) {
    const text = `is ${KNOWN.slice(0, at)}${lineBreak}${KNOWN.slice(at)} here\n`;
    const redactor = createRedactor({ known: [KNOWN] });
    expect(redactor.redact(text).text).toBe(`is ${REDACTION_MARKER} here\n`);
    for (let cut = 1; cut < text.length; cut++) {
      const stream = redactor.stream();
      expect(stream.push(text.slice(0, cut)) + stream.push(text.slice(cut)) + stream.end()).toBe(
        `is ${REDACTION_MARKER} here\n`,
      );
    }
  }
});

test("a known value wrapped at its blank is found", () => {
  expect(redact("is correct-horse/7\n  battery+staple here", { known: [KNOWN] }).text).toBe(
    `is ${REDACTION_MARKER} here`,
  );
});

test("a known value is found in hex, run together and separated", () => {
  const hex = Buffer.from(KNOWN).toString("hex");
  const pairs = hex.match(/../g) ?? [];
  for (const form of [
    pairs.join("-"),
    pairs.join(", 0x"),
    pairs.join(",0x").toUpperCase().replaceAll("X", "x"),
    hex.replaceAll(/(....)(?=.)/g, "$1 "),
    hex.replaceAll(/(?<=^..(?:....)*)(?=..)/g, " "),
    hex,
    hex.toUpperCase(),
    hex.replaceAll(/..(?=.)/g, "$& "),
    hex.replaceAll(/..(?=.)/g, "$&:"),
    hex.replaceAll(/../g, "\\x$&"),
    hex.replaceAll(/../g, "%$&"),
  ]) {
    expect(redact(`<${form}>`, { known: [KNOWN] }).text).toBe(`<${REDACTION_MARKER}>`);
  }
});

const code = (text: string, write: (code: number) => string): string =>
  Array.from(text, (each) => write(each.charCodeAt(0))).join("");
const two = (value: number): string => value.toString(16).padStart(2, "0");

// oxfmt-ignore
const ESCAPED = [
  { title: "JSON",             write: (at: number) => `\\u00${two(at)}` },
  { title: "JSON in JSON",     write: (at: number) => `\\\\u00${two(at)}` },
  { title: "bytes of C",       write: (at: number) => `\\x${two(at)}` },
  { title: "octal digits",     write: (at: number) => `\\${at.toString(8).padStart(3, "0")}` },
  { title: "braces",           write: (at: number) => `\\u{${at.toString(16)}}` },
  { title: "HTML",             write: (at: number) => `&#${at};` },
  { title: "HTML in hex",      write: (at: number) => `&#x${at.toString(16)};` },
  { title: "an address",       write: (at: number) => `%${two(at)}` },
  { title: "an address twice", write: (at: number) => `%25${two(at)}` },
];

for (const { title, write } of ESCAPED) {
  test(`a token escaped as in ${title} is redacted: its first letter, one in the middle, all of it`, () => {
    const first = code(github.slice(0, 1), write) + github.slice(1);
    const middle = github.slice(0, 20) + code(github.slice(20, 21), write) + github.slice(21);
    for (const text of [first, middle, code(github, write)]) {
      expect(redact(`a ${text} b\n`).text).toBe(`a ${REDACTION_MARKER} b\n`);
      const stream = createRedactor().stream();
      let pieces = "";
      for (const each of `a ${text} b\n`) pieces += stream.push(each);
      expect(pieces + stream.end()).toBe(`a ${REDACTION_MARKER} b\n`);
    }
    expect(redact(`password${write(61)}hunter2Zq9`).text).not.toContain("hunter2");
    expect(redact(`pass${write(119)}ord=hunter2Zq9`).text).not.toContain("hunter2");
  });
}

test("a passphrase of several words goes, what a form says about one stays", () => {
  for (const phrase of ["correct horse battery staple", "open the pod bay doors", "to be or not to be"]) {
    expect(redact(`passphrase: "${phrase}"`).text).toBe(`passphrase: "${REDACTION_MARKER}"`);
    expect(redact(`{"passphrase":"${phrase}"}`).text).toBe(`{"passphrase":"${REDACTION_MARKER}"}`);
  }
  for (const text of ['"passphrase": "Enter your passphrase"', 'passphrase: "The passphrase of the key"']) {
    expect(redact(text).text).toBe(text);
  }
});

test("on a long line an escape hides nothing, wherever it stands and however much follows", () => {
  const filler = "%2Fa%2Fb,".repeat(60);
  for (let shift = 0; shift < 2600; shift += 37) {
    const before = `%41${"x ".repeat(shift >> 1)}`;
    expect(redact(`${before} %67${github.slice(1)} ${filler}`).text).toBe(`${before} ${REDACTION_MARKER} ${filler}`);
  }
  const long = `\\x65${jwt.slice(1)}${MIXED.repeat(80)}`;
  expect(redact(`a ${long} b`).text).toBe(`a ${REDACTION_MARKER} b`);
});
