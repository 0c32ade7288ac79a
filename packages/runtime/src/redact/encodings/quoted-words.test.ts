import { expect, test } from "vitest";
import { REDACTION_MARKER } from "../../protocol/marker.ts";
import { createRedactor, redact } from "../redact.ts";

/** Tokens are put together, so that none stands in this file. */
const MIXED = "a1B2c3D4e5F6g7H8j9K0m1N2p3Q4r5S6t7U8";
const github = ["gh", "p_", MIXED].join("");
const aws = ["AK", "IA", "A2B3C4D5E6F7G2H3"].join("");
const openai = ["sk", "-", MIXED, MIXED].join("");

// oxfmt-ignore
const QUOTED = [
  { title: "empty quotes",                  write: (token: string) => `${token.slice(0, 2)}''${token.slice(2)}` },
  { title: "empty double quotes",           write: (token: string) => `${token.slice(0, 3)}""${token.slice(3)}` },
  { title: "quotes around its beginning",   write: (token: string) => `'${token.slice(0, 2)}'${token.slice(2)}` },
  { title: "quotes around its end",         write: (token: string) => `${token.slice(0, 2)}"${token.slice(2)}"` },
  { title: "quotes around its middle",      write: (token: string) => `${token.slice(0, 1)}'${token.slice(1, 9)}'${token.slice(9)}` },
  { title: "two kinds of quotes",           write: (token: string) => `"${token.slice(0, 2)}"'${token.slice(2)}'` },
  { title: "quotes around each character",  write: (token: string) => Array.from(token, (each) => `'${each}'`).join("") },
  { title: "quotes between all characters", write: (token: string) => Array.from(token).join("''") },
  { title: "a backslash",                   write: (token: string) => `${token.slice(0, 1)}\\${token.slice(1)}` },
  { title: "three backslashes",             write: (token: string) => `\\${token[0]}\\${token[1]}\\${token.slice(2)}` },
  { title: "a backslash before each",       write: (token: string) => Array.from(token, (each) => `\\${each}`).join("") },
  { title: "quotes of $''",                 write: (token: string) => `${token.slice(0, 1)}$'${token.slice(1, 2)}'${token.slice(2)}` },
  { title: "an escape within $''",          write: (token: string) => `$'\\x${token.charCodeAt(0).toString(16)}'${token.slice(1)}` },
  { title: "quotes within a string of JSON", write: (token: string) => `${token.slice(0, 2)}\\"\\"${token.slice(2)}` },
];

for (const { title, write } of QUOTED) {
  test.each([github, aws, openai])(`a token with ${title} is redacted, %#`, (token) => {
    for (const text of [`echo ${write(token)} > file\n`, `curl -H "X: ${write(token)}" host`, write(token)]) {
      const { text: left, redacted } = redact(text);
      expect(redacted).toBe(true);
      expect(left.replaceAll(/['"\\]/g, "")).not.toContain(token.slice(4, 16));
      expect(left).toContain(REDACTION_MARKER);
      for (let cut = 1; cut < text.length; cut += 5) {
        const stream = createRedactor().stream();
        expect(stream.push(text.slice(0, cut)) + stream.push(text.slice(cut)) + stream.end()).toBe(left);
      }
    }
  });
}

// oxfmt-ignore
const KEPT = [
  "don't, can't, it''s, O'Neill-and-sons-incorporated-2024",
  `WHERE name = 'O''Brien' AND note = 'it''s a task-list-for-the-year-2024'`,
  `return"object"==typeof e&&"function"==typeof e.then?e:r("task-list-item-2024-done")`,
  `f"{user}-{name}"r'\\d{4}-\\w+'b"bytes-and-more-bytes"`,
  "C:\\Users\\Bob\\Documents\\Projects\\disk-usage-analyzer-2024",
  "\\section{Introduction}\\label{sec:introduction-to-the-topic}",
  `{\\"name\\":\\"task-list-2024-01-15\\",\\"id\\":\\"4bf92f35-77b3-4da6-a3ce-929d0e0e4736\\"}`,
  `class='a-b'id="c-d"data-key='npm_config_with_a_very_long_name'`,
];

test.each(KEPT)("quotes within other words are kept: %s", (text) => {
  expect(redact(text)).toEqual({ text, redacted: false });
});
