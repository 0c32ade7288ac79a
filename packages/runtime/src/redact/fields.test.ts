import { expect, test } from "vitest";
import { REDACTION_MARKER } from "../protocol/marker.ts";
import { createRedactor } from "./redact.ts";

const { redactValue } = createRedactor({ known: ["known-value-1"] });
const token = ["gh", "p_", "a1B2".repeat(9)].join("");

// oxfmt-ignore
const CHANGED: readonly (readonly [title: string, given: unknown, left: unknown])[] = [
  ["a string",                        `see ${token}`,                                 `see ${REDACTION_MARKER}`],
  ["a known value",                   ["a known-value-1"],                            [`a ${REDACTION_MARKER}`]],
  ["a field named like a secret",     { api_key: "abc" },                             { api_key: REDACTION_MARKER }],
  ["a field of one letter",           { password: "x" },                              { password: REDACTION_MARKER }],
  ["a number",                        { password: 12345 },                            { password: REDACTION_MARKER }],
  ["a field in camel case",           { user: { dbPassword: "hunter2" } },            { user: { dbPassword: REDACTION_MARKER } }],
  ["a header",                        { headers: { "X-Api-Key": "abc", Accept: "*" } }, { headers: { "X-Api-Key": REDACTION_MARKER, Accept: "*" } }],
  ["an authorization header",         { Authorization: "Bearer abc" },                { Authorization: REDACTION_MARKER }],
  ["passwords in a list",             { passwords: ["a", "b"] },                      { passwords: [REDACTION_MARKER, REDACTION_MARKER] }],
  ["deep data",                       { a: [{ b: [{ secret: "x1" }] }] },             { a: [{ b: [{ secret: REDACTION_MARKER }] }] }],
  ["a key that is a secret",          { [token]: 1 },                                 { [REDACTION_MARKER]: 1 }],
  ["a flag and its value",            { args: ["--token", "abc", "run"] },            { args: ["--token", REDACTION_MARKER, "run"] }],
  ["a list of headers",               ["X-Api-Key", "abc", "Accept", "*"],            ["X-Api-Key", REDACTION_MARKER, "Accept", "*"]],
  ["a name and its value",            [{ name: "DB_PASSWORD", value: "x" }],          [{ name: "DB_PASSWORD", value: REDACTION_MARKER }]],
  ["text in a field of another name", { command: "export MY_TOKEN=abcdef" },          { command: `export MY_TOKEN=${REDACTION_MARKER}` }],
  ["a key of unknown kind",           { vendor_key: "a1B2-c3D4" },                    { vendor_key: REDACTION_MARKER }],
  ["own fields called __proto__",     JSON.parse('{"__proto__":{"password":"x1"}}'),  JSON.parse(`{"__proto__":{"password":"${REDACTION_MARKER}"}}`)],
];

for (const [title, given, left] of CHANGED) {
  test(`redacts ${title}`, () => {
    const before = JSON.stringify(given);
    expect(redactValue(given)).toEqual({ value: left, redacted: true });
    expect(JSON.stringify(given), "what was given is left alone").toBe(before);
    expect(redactValue(left)).toEqual({ value: left, redacted: false });
  });
}

// oxfmt-ignore
const KEPT: readonly unknown[] = [
  null, undefined, 0, 42, true, "text", [], {}, [1, "a", null],
  { max_tokens: 100_000, usage: { total_tokens: 123_456 } },
  { token: 5, tokens: ["a", "b"] },
  { password: "", secret: null, token: true, api_key: "${API_KEY}", private_key: "<key>" },
  { project_key: "PROJ", issue_key: "ABC-123", sidebar_key: "sidebar-open" },
  { key: "value", primary_key: "id", public_key: "ssh-rsa AAAA" },
  { properties: { token: { type: "string", description: "the token" } } },
  { args: ["--token", "--verbose"], list: ["--user", "bob"] },
  { name: "PORT", value: "80" },
  new Date(0),
];

test("what has no secret comes back as the same reference", () => {
  for (const value of KEPT) {
    expect(redactValue(value).value, JSON.stringify(value)).toBe(value);
    expect(redactValue(value).redacted).toBe(false);
  }
});

test("unchanged branches of changed data stay the same reference", () => {
  const same = { list: [1, 2, 3] };
  const { value } = redactValue({ same, password: "x1" });
  expect((value as { same: unknown }).same).toBe(same);
});

test("data nested beyond all reason is replaced, not followed to the end of the stack", () => {
  let deep: unknown = { password: "hunter2" };
  for (let i = 0; i < 100_000; i++) deep = [deep];
  const { value, redacted } = redactValue(deep);
  expect(redacted).toBe(true);
  let found = value;
  while (Array.isArray(found)) found = (found as unknown[])[0];
  expect(found).toBe(REDACTION_MARKER);
});

test("a secret that goes over the lines of a listing goes from each of them", () => {
  const listing = (texts: readonly string[], from = 1) =>
    texts.map((text, i) => ({ path: "a.env", line: from + i, text }));
  const key = ["x9Yz+aB3dE5f/G7hJ9kL1mN=", ["-----END PRIV", "ATE KEY-----"].join("")];

  expect(redactValue({ matches: listing([token.slice(0, 20), token.slice(20), "next"]) }).value).toEqual({
    matches: listing([REDACTION_MARKER, REDACTION_MARKER, "next"]),
  });
  expect(redactValue(listing([...key, "ok"])).value).toEqual(listing([REDACTION_MARKER, key[1] ?? "", "ok"]));
  expect(redactValue(listing(["a", "password=hunter2 b", "c"])).value).toEqual(
    listing(["a", `password=${REDACTION_MARKER} b`, "c"]),
  );
});

test("a listing without a secret is the same reference, and lines of two places are not read as one", () => {
  const plain = [{ text: "a" }, { text: "b" }];
  expect(redactValue(plain).value).toBe(plain);
  const apart = [
    { path: "a", line: 1, text: token.slice(0, 20) },
    { path: "b", line: 9, text: token.slice(20) },
  ];
  expect(redactValue(apart).value).toBe(apart);
});

// oxfmt-ignore
const AGAIN = [
  { title: "a known value within a password",         data: { password: "wordknown value/1token=***REDACTED***" } },
  { title: "a known value within an address",         data: { password: '"postgres://bob:hunknown value/1{"args":["--token","abcdef"]}\'***REDACTED***' } },
  { title: "a password within the value of a token",  data: { args: ["--token", "passknown value/1token=***REDACTED***<password>hunter2</password>"] } },
  { title: "a line that begins with a line end",      data: [{ path: "a", line: 1, text: "a secret: " }, { path: "a", line: 2, text: '\n"password: |\n  endlessx' }] },
  { title: "an address within a named value",         data: { name: "X_TOKEN", value: "-----BEGIN CERTIFICATE-----\npostgres://bob:hunter2@db/app\\***REDACTED***" } },
] as const;

test.each(AGAIN)("redacting data twice changes nothing more: $title", ({ data }) => {
  const { redactValue } = createRedactor({ known: ["known value/1"] });
  const once = redactValue(data);
  expect(once.redacted).toBe(true);
  expect(redactValue(once.value)).toEqual({ value: once.value, redacted: false });
});

test("a line of a listing keeps the line end that it begins with", () => {
  const listing = (text: string): unknown => [
    { path: "a", line: 1, text: "\nkey" },
    { path: "a", line: 2, text: `\n${text}` },
    { path: "a", line: 9, text: `\n${text}` },
  ];
  expect(redactValue(listing(token)).value).toEqual(listing(REDACTION_MARKER));
});
