import { expect, test } from "vitest";
import { createRedactor } from "../redact.ts";

const KNOWN = ["second-known-value", "Correct Horse 9"];
const redactor = createRedactor({ known: KNOWN });

/** All that is out when the text came character by character; with a pause where it ends. */
function seen(text: string): { readonly out: string; readonly paused: string } {
  const stream = redactor.stream();
  let out = "";
  for (const character of text) out += stream.push(character);
  return { out, paused: stream.pause() };
}

// oxfmt-ignore
const AT_ONCE = [
  { text: "Hello ",               out: "Hello ",              paused: "" },
  { text: "Done\n",               out: "Done\n",              paused: "" },
  { text: "Hello",                out: "",                    paused: "Hello" },
  { text: "Looking, then",        out: "Looking, ",           paused: "then" },
  { text: "It is done.",          out: "It is ",              paused: "done." },
  { text: "\r 45%",               out: "\r ",                 paused: "45%" },
  { text: "10 %\r",               out: "10 ",                 paused: "%\r" },
  { text: "你好",                 out: "",                    paused: "你好" },
  { text: "Name:",                out: "",                    paused: "Name:" },
];

for (const { text, out, paused } of AT_ONCE) {
  test(`${JSON.stringify(text)} is out as it comes, its last word in a pause`, () => {
    expect(seen(text)).toEqual({ out, paused });
  });
}

/** Tokens are put together, so that none stands in this file. */
function joined(...parts: readonly string[]): string {
  return parts.join("");
}

// oxfmt-ignore
const SECRETS = [
  joined("gh", "p_", "a1B2".repeat(9)),
  joined("AK", "IA", "A2B3C4D5E6F7G2H3"),
  joined("ey", "JhbGciOiJIUzI1NiJ9", ".ey", "JzdWIiOiIxIn0.", "a1B2".repeat(10)),
  joined("npm", "_", "a1B2".repeat(9)),
  joined("729461038", ":A", "A", "a1B2".repeat(8), "c"),
  joined("MI", "IEpAIBAAKCAQEA", "a1B2c3D4".repeat(12)),
  ...KNOWN,
];

test("no pause lets out a part of a secret, wherever it comes", () => {
  for (const secret of SECRETS) {
    for (const before of ["", "see ", "line\n", "a: "]) {
      const text = `${before}${secret} `;
      const whole = redactor.redact(text).text;
      for (let cut = 0; cut <= text.length; cut++) {
        const stream = redactor.stream();
        const out = stream.push(text.slice(0, cut)) + stream.pause() + stream.push(text.slice(cut)) + stream.end();
        expect({ cut, out }).toEqual({ cut, out: whole });
      }
    }
  }
});

test("a value behind its name stays held in a pause", () => {
  for (const text of ["password: hun", "Authorization: Bearer abc", "MY_TOKEN=abc", "mysql -phun", 'password: "hun']) {
    const { out, paused } = seen(text);
    expect(`${out}${paused}`).not.toMatch(/hun|abc/);
  }
});

test("what is out in a pause does not come again, and what follows is redacted", () => {
  const stream = redactor.stream();
  const token = SECRETS[0] ?? "";
  expect(stream.push("Hel")).toBe("");
  expect(stream.pause()).toBe("Hel");
  expect(stream.pause()).toBe("");
  expect(stream.push("lo ")).toBe("lo ");
  const out = stream.push(`${token}, then some more words and wor`) + stream.pause() + stream.push("ds") + stream.end();
  expect(out).toBe("***REDACTED***, then some more words and words");
});

// oxfmt-ignore
const NAMED = [
  "echo monkey | sudo -S ls\n", "printf monkey | docker login --password-stdin\n", "password: correct horse battery\n", "password: |\n  correct horse\n  battery\nnext: x\n",
  "value: monkey\n  name: DB_PASSWORD\n", "https://bob:monkey@db/app ", "localhost:5432:db:bob:monkey\n", "machine a login b password monkey\n", "CREATE USER x IDENTIFIED BY 'monkey';\n",
  "DB_\u001B[31mPASS\u001B[mWORD=mon\u001B[31mkey\u001B[m\n", "second-\u001B[7mknown\u001B[m-value ", "密码：很长的值\n", "Cookie: sid=monkeys; theme=dark\n",
];

test("a pause after each piece lets out no more than none does, whatever the size of the pieces", () => {
  for (const text of [...NAMED, ...SECRETS].flatMap((each) => [each, `line\n${each}`, `Then ${each}`])) {
    const whole = redactor.redact(text).text;
    for (let size = 1; size <= Math.min(text.length, 24); size++) {
      const stream = redactor.stream();
      let out = "";
      for (let at = 0; at < text.length; at += size) out += stream.push(text.slice(at, at + size)) + stream.pause();
      expect({ text, size, out: out + stream.end() }).toEqual({ text, size, out: whole });
    }
  }
});
