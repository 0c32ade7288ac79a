import { expect, test } from "vitest";
import { REDACTION_MARKER } from "../../protocol/marker.ts";
import { createRedactor } from "../redact.ts";

const KNOWN = "Zq7-Vault+Pass-93kd";
const redactor = createRedactor({ known: [KNOWN, "rotate me quarterly 8812"] });
const token = ["gh", "p_", "a8Kq2LmZx0Pw7RtYb3Nc5Vd9Ef1Gh6Jk4MsQ"].join("");
const jwt = ["ey", "JhbGciOiJIUzI1NiJ9.ey", "JzdWIiOiJib2IifQ.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg"].join("");

const COLOURS = /\u001b\[[\d;]*[A-Za-z]/g;

/** A part of a text as a program highlights it. */
// oxfmt-ignore
const HIGHLIGHTS: Readonly<Record<string, (part: string) => string>> = {
  grep:    (part) => `\u001b[01;31m\u001b[K${part}\u001b[m\u001b[K`,
  ripgrep: (part) => `\u001b[0m\u001b[1m\u001b[31m${part}\u001b[0m`,
  ag:      (part) => `\u001b[30;43m${part}\u001b[0m\u001b[K`,
  bat:     (part) => `\u001b[38;5;231m${part}\u001b[0m`,
};

/** No four characters of a secret in a row are shown. */
function expectHidden(text: string, secret: string): void {
  const shown = redactor.redact(text).text;
  const plain = shown.replaceAll(COLOURS, "").replaceAll(REDACTION_MARKER, "\n");
  for (let at = 0; at + 4 <= secret.length; at++) expect(plain).not.toContain(secret.slice(at, at + 4));
  expect(plain.startsWith("before ")).toBe(true);
  expect(plain.endsWith(" after\n")).toBe(true);
  expect(redactor.redact(shown)).toEqual({ text: shown, redacted: false });
  for (const size of [1, 3, 17]) expect(inPieces(text, size)).toBe(shown);
}

function inPieces(text: string, size: number): string {
  const stream = redactor.stream();
  let result = "";
  for (let at = 0; at < text.length; at += size) result += stream.push(text.slice(at, at + size));
  return result + stream.end();
}

for (const [program, highlight] of Object.entries(HIGHLIGHTS)) {
  for (const [kind, secret] of Object.entries({
    "a known value": KNOWN,
    "a GitHub token": token,
    "a web token": jwt,
  })) {
    test(`${kind} with a hit of ${program} in it is redacted, wherever the hit is`, () => {
      for (const length of [1, 3]) {
        for (let at = 0; at + length <= secret.length; at++) {
          const shown = secret.slice(0, at) + highlight(secret.slice(at, at + length)) + secret.slice(at + length);
          expectHidden(`before ${shown} after\n`, secret);
        }
      }
    });
  }

  test(`a password is redacted with a hit of ${program} in its name or in itself`, () => {
    for (const word of ["PASS", "DB_", "WORD", "hX9k", "Q2mP", "zT4v"]) {
      const line = "DB_PASSWORD=hX9kQ2mPzT4v".replace(word, highlight);
      expectHidden(`before ${line} after\n`, "hX9kQ2mPzT4v");
    }
  });
}

// oxfmt-ignore
const DIFFS = [
  `before\n+${KNOWN.slice(0, 10)}\n+${KNOWN.slice(10)}\nafter`,
  `before\n-${KNOWN.slice(0, 7)}\n-${KNOWN.slice(7)}\nafter`,
  `before\n+  a: ${KNOWN.slice(0, 12)}\\\n+    ${KNOWN.slice(12)}\nafter`,
  `before\n\u001b[32m+${KNOWN.slice(0, 9)}\u001b[m\n\u001b[32m+${KNOWN.slice(9)}\u001b[m\nafter`,
  `before\n\u001b[32m+\u001b[m\u001b[32m${KNOWN.slice(0, 9)}\u001b[m\n\u001b[32m+\u001b[m\u001b[32m${KNOWN.slice(9)}\u001b[m\nafter`,
  "before\n+rotate me\n+quarterly 8812\nafter",
] as const;

test.each(DIFFS)("a known value over two lines of a diff is redacted: %j", (text) => {
  const shown = redactor.redact(text).text;
  expect(shown.replaceAll(COLOURS, "")).toMatch(/^before\n[+-](?: {2}a: )?\*\*\*REDACTED\*\*\*\nafter$/);
  expect(redactor.redact(shown)).toEqual({ text: shown, redacted: false });
  for (const size of [1, 5, 23]) expect(inPieces(text, size)).toBe(shown);
});

test("a sign that is part of a known value is taken for that", () => {
  expect(redactor.redact("a Zq7-Vault\n+Pass-93kd b").text).toBe(`a ${REDACTION_MARKER} b`);
});

test("coloured text without secrets stays", () => {
  const text =
    "\u001b[32m✓\u001b[39m src/\u001b[1mtoken\u001b[22m.test.ts \u001b[2m(12 tests)\u001b[22m\u001b[33m 48\u001b[2mms\u001b[22m\u001b[39m\n" +
    "src/a.ts:\u001b[01;31m\u001b[Kpass\u001b[m\u001b[Kword: string;\nget\u001b[7mToken\u001b[m()\n";
  expect(redactor.redact(text)).toEqual({ text, redacted: false });
  expect(inPieces(text, 7)).toBe(text);
});
