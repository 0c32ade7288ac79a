import { expect, test } from "vitest";
import { REDACTION_MARKER } from "../protocol/marker.ts";
import { createRedactor, redact } from "./redact.ts";

/** Tokens are put together, so that none stands in this file. */
function joined(...parts: readonly string[]): string {
  return parts.join("");
}

const M = REDACTION_MARKER;
const token = joined("gh", "p_", "a1B2".repeat(9));
const keyId = joined("AK", "IA", "A2B3C4D5E6F7G2H3");

/** A secret, and right behind it a marker that stands in the text itself. `left` is what may be seen. */
// oxfmt-ignore
const HIDDEN = [
  { title: "a token",                        text: `a ${token}${M} b`,                              left: `a ${M}${M} b` },
  { title: "a token and the rest of a word", text: `a ${token}${M}b`,                               left: `a ${M}${M}b` },
  { title: "two markers",                    text: `a ${token}${M}${M} b`,                          left: `a ${M}${M}${M} b` },
  { title: "a key id of a fixed length",     text: `a ${keyId}${M} b`,                              left: `a ${M}${M} b` },
  { title: "a variable",                     text: `MY_TOKEN=abcdef${M}`,                           left: `MY_TOKEN=${M}` },
  { title: "a variable with signs in it",    text: `MY_TOKEN=p@ss!w0rd/x${M}\n`,                    left: `MY_TOKEN=${M}\n` },
  { title: "a variable in base64",           text: `MY_TOKEN=dGVzdDE=${M}`,                         left: `MY_TOKEN=${M}` },
  { title: "one letter of a password",       text: `password: x${M}`,                               left: `password: ${M}` },
  { title: "a marker within a password",     text: `password: hun${M}ter2`,                         left: `password: ${M}` },
  { title: "a quoted password",              text: `{"password":"hunter2${M}"}`,                    left: `{"password":"${M}"}` },
  { title: "a quoted passphrase",            text: `"password": "correct horse battery${M}"`,       left: `"password": "${M}"` },
  { title: "a passphrase on a line",         text: `password: correct horse battery${M}\n`,         left: `password: ${M}\n` },
  { title: "a block of YAML",                text: `password: |\n  hunter2${M}\nnext: 1\n`,         left: `password: |\n  ${M}\nnext: 1\n` },
  { title: "a flag",                         text: `tool --token abc${M} x`,                        left: `tool --token ${M} x` },
  { title: "a bearer token",                 text: `Bearer a1b2c3d4e5${M}`,                         left: `Bearer ${M}${M}` },
  { title: "a header",                       text: `Authorization: Basic dXNlcjpz${M}`,             left: `Authorization: Basic ${M}` },
  { title: "a cookie",                       text: `Cookie: sid=abc${M}; theme=dark`,               left: `Cookie: sid=${M}; theme=dark` },
  { title: "a password in an address",       text: `postgres://bob:hun${M}@db/app`,                 left: `postgres://bob:${M}@db/app` },
  { title: "a token in an address",          text: `https://a1b2c3d4e5f6g7h8i9j0k1${M}@host/`,      left: `https://${M}@host/` },
  { title: "a word of a command",            text: `sshpass -p hun${M} ssh host`,                   left: `sshpass -p ${M} ssh host` },
  { title: "the rest of an option",          text: `mysql -phun${M} db`,                            left: `mysql -p${M} db` },
  { title: "what is fed to a program",       text: `echo hunter2${M} | sudo -S true`,               left: `echo ${M} | sudo -S true` },
  { title: "a password of SQL",              text: `CREATE USER x IDENTIFIED BY 'hun${M}';`,        left: `CREATE USER x IDENTIFIED BY '${M}';` },
] as const;

test.each(HIDDEN)("a marker behind $title hides nothing", ({ text, left }) => {
  const once = redact(text);
  expect(once).toEqual({ text: left, redacted: true });
  expect(redact(once.text)).toEqual({ text: left, redacted: false });
  for (let cut = 0; cut <= text.length; cut++) {
    const stream = createRedactor().stream();
    expect(stream.push(text.slice(0, cut)) + stream.push(text.slice(cut)) + stream.end()).toBe(left);
  }
});

test("values of fields are judged with the marker in them", () => {
  const { redactValue } = createRedactor();
  expect(redactValue({ password: `hunter2${M}`, token: M }).value).toEqual({ password: M, token: M });
  expect(redactValue({ password: M, token: M }).redacted).toBe(false);
});

// oxfmt-ignore
const KEPT = [
  `MY_TOKEN=${M}`, `"password": "${M}"`, `https://bob:${M}@db`, `mysql -p${M} db`, `word${M}`, `see "${M}" there`, `the token ${M} was rotated`, `Cookie: sid=${M}; a=b`, `Bearer ${M}`,
  `password: "see the token ${M}"`, `token = getToken(${M})`, `hooks/${M}`,
] as const;

test.each(KEPT)("what was redacted, and words before a marker, stay: %s", (text) => {
  expect(redact(text)).toEqual({ text, redacted: false });
});

const key = joined("-----BEGIN PRIV", "ATE KEY-----");

test("a word that a key goes on from is redacted with it, a written-out line end is not", () => {
  expect(redact(`a hunter2${key}`).text).toBe(`a ${M}`);
  expect(redact(`"a\\n${key}"`).text).toBe(`"a\\n${M}"`);
  expect(redact(`KEY=${key}`).text).toBe(`KEY=${M}`);
});

test("a token of a fixed length right before a known value is redacted with it", () => {
  const { redact: redactKnown, stream } = createRedactor({ known: ["known value/1"] });
  const text = `a ${keyId}known value/1 b`;
  expect(redactKnown(text).text).toBe(`a ${M} b`);
  for (let cut = 0; cut <= text.length; cut++) {
    const pieces = stream();
    expect(pieces.push(text.slice(0, cut)) + pieces.push(text.slice(cut)) + pieces.end()).toBe(`a ${M} b`);
  }
});
