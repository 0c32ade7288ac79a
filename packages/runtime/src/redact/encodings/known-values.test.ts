import fc from "fast-check";
import { expect, test } from "vitest";
import { REDACTION_MARKER } from "../../protocol/marker.ts";
import { createRedactor, redact } from "../redact.ts";

const VALUE = 'pa"ss w/ord+ü&7';
const base64 = (text: string): string => Buffer.from(text).toString("base64");

// oxfmt-ignore
const FORMS = [
  { title: "as it is",               text: `x${VALUE}y`,                                    left: [`x${REDACTION_MARKER}y`] },
  { title: "inside JSON",            text: JSON.stringify({ a: VALUE }),                    left: [`{"a":"${REDACTION_MARKER}"}`] },
  { title: "inside JSON in JSON",    text: JSON.stringify(JSON.stringify({ a: VALUE })),    left: [`"{\\"a\\":\\"${REDACTION_MARKER}\\"}"`] },
  { title: "in an address",          text: `?a=${encodeURIComponent(VALUE)}&b=1`,           left: [`?a=${REDACTION_MARKER}&b=1`] },
  { title: "in a form",              text: new URLSearchParams({ a: VALUE }).toString(),    left: [`a=${REDACTION_MARKER}`] },
  { title: "in an address, lower case", text: encodeURIComponent(VALUE).replaceAll(/%../g, (each) => each.toLowerCase()), left: [REDACTION_MARKER] },
] as const;

for (const { title, text, left } of FORMS) {
  test(`a known value is found ${title}`, () => {
    expect(redact(text, { known: [VALUE] })).toEqual({ text: left[0], redacted: true });
  });
}

// oxfmt-ignore
const ESCAPED = [
  `gr''een-bird/77`, `gr""een-b""ird/77`, `"gr"een-bird/77`, `g're'en-bird/77`, `'green'"-"'bird/77'`, "\\g\\r\\e\\e\\n-bird/77", "green\\-bird/77", "green-bird\\/77",
  "$'gr\\x65en-bird/77'", "$'green\\055bird/77'", "gre$'en'-bird/77", "green$'\\x2d'bird/77", "%67reen-bird/77", "green%2Dbird/77", "green-bird%2f77", "gree%6E%2dbird/77", "green-bird%2F7%37",
  "\\u0067reen-bird/77", "green-bird\\u002F77", "gre\\u{65}n-bird/77", "green\\\\u002dbird/77", "&#103;reen-bird/77", "green&#x2d;bird/77", "green-b&#105;rd&#47;77", "gr\\x65en-b\\x69rd/7\\x37",
];

test.each(ESCAPED)("a known value is found with some of its characters escaped or quoted: %s", (written) => {
  const redactor = createRedactor({ known: ["green-bird/77", "green-birds-are-others"] });
  const text = `run x ${written} y\n`;
  const { text: left } = redactor.redact(text);
  expect(left).toMatch(/^run x [$'"]{0,2}\*\*\*REDACTED\*\*\*['"]? y\n$/);
  for (let cut = 0; cut <= text.length; cut++) {
    const stream = redactor.stream();
    expect(stream.push(text.slice(0, cut)) + stream.push(text.slice(cut)) + stream.end()).toBe(left);
  }
});

test("a known value of several words is found with its blanks and quotes escaped", () => {
  const known = [`two wo"rds & it's 9`];
  for (const text of [
    `two\\ wo\\"rds\\ \\&\\ it\\'s\\ 9`,
    `'two wo"rds & it'\\''s 9'`,
    `two wo&quot;rds &amp; it's 9`,
    `two%20wo"rds & it's%209`,
    `two wo\\u0022rds \\u0026 it\\u0027s 9`,
    `"two wo"'"'"rds & it's 9"`,
  ]) {
    expect(redact(text, { known }).text.replaceAll(/["']/g, "")).toBe(REDACTION_MARKER);
  }
});

test("a known value is found in base64, whatever surrounds it there", () => {
  const value = "correct-horse-7";
  for (const before of ["", "a", "ab", "abc", "user:"]) {
    for (const after of ["", "x", "xy", "xyz"]) {
      const encoded = base64(before + value + after);
      const { text } = redact(`value ${encoded} end`, { known: [value] });
      expect(text).toMatch(/^value \S{0,9}\*\*\*REDACTED\*\*\*\S{0,8} end$/);
      const decoded = Buffer.from(text.replace("value ", "").split("*")[0] ?? "", "base64").toString();
      expect(decoded).not.toContain("corr");
    }
  }
});

test("the longest of overlapping known values goes, and nothing of the others is left", () => {
  const known = ["abcdef", "abcdefghij", "ghijklmn"];
  expect(redact("<abcdef> <abcdefghij> <abcdefghijklmn>", { known }).text).toBe(
    `<${REDACTION_MARKER}> <${REDACTION_MARKER}> <${REDACTION_MARKER}>`,
  );
});

test("values too short or too common to be told from text are not looked for", () => {
  const known = [
    "true",
    "abc12",
    "localhost",
    "1234567",
    "password",
    "aaaaaaaa",
    "",
    "   ",
    "REDACTED",
    "development",
    "kerberos",
    "digest",
  ];
  const text = "true abc12 localhost 1234567 the password aaaaaaaa REDACTED development kerberos digest";
  expect(redact(text, { known })).toEqual({ text, redacted: false });
});

test("digits are looked for from eight on, and white space around a value does not matter", () => {
  expect(redact("id 12345678.", { known: ["12345678"] }).text).toBe(`id ${REDACTION_MARKER}.`);
  expect(redact("id seven77.", { known: [" seven77\n"] }).text).toBe(`id ${REDACTION_MARKER}.`);
});

test("values with signs of regular expressions are taken literally", () => {
  expect(redact("a.*b(c) aXXb(c)", { known: ["a.*b(c)"] }).text).toBe(`${REDACTION_MARKER} aXXb(c)`);
});

test("a value of several lines is found line by line too", () => {
  const value = "first-line-of-the-secret\nsecond-line-of-the-secret";
  const text = "12: first-line-of-the-secret\n13: second-line-of-the-secret\n";
  expect(redact(text, { known: [value] }).text).toBe(`12: ${REDACTION_MARKER}\n13: ${REDACTION_MARKER}\n`);
});

test("a value longer than a stream holds back is found as a whole", () => {
  const value = Array.from({ length: 3000 }, (_, i) => `${i}-`).join("");
  expect(redact(`<${value}>`, { known: [value] }).text).toBe(`<${REDACTION_MARKER}>`);
});

test("known values and rules together leave nothing of either", () => {
  const token = ["gh", "p_", "a1B2".repeat(9)].join("");
  expect(redact(`xyz-${token}!`, { known: [`xyz-${token.slice(0, 10)}`] }).text).toBe(`${REDACTION_MARKER}!`);
  expect(redact("password=one two three", { known: ["one two"] }).text).toBe(`password=${REDACTION_MARKER} three`);
});

test("thousands of values with a common beginning are found", () => {
  const known = Array.from({ length: 5000 }, (_, i) => `common-beginning-${i}-end`);
  const redactor = createRedactor({ known });
  expect(redactor.redact("common-beginning-4711-end common-beginning-5000-end").text).toBe(
    `${REDACTION_MARKER} common-beginning-5000-end`,
  );
  const text = "common-beginning-".repeat(20_000);
  expect(redactor.redact(text).text).toBe(text);
});

test("of any text, nothing is left that is a known value", () => {
  const value = fc.string({
    minLength: 6,
    maxLength: 12,
    unit: fc.constantFrom("a", "b", "c", "1", "%", '"', "é", "\n"),
  });
  fc.assert(
    fc.property(
      fc.array(value, { minLength: 1, maxLength: 4 }),
      fc.array(fc.nat(9), { maxLength: 20 }),
      (known, picks) => {
        const text = picks.map((pick) => known[pick] ?? ["a", "b ", "1", "\n", "x%"][pick % 5]).join("");
        const { text: left } = redact(text, { known });
        for (const each of known) {
          const isLookedFor = redact(`<${each}>`, { known: [each] }).redacted;
          if (isLookedFor && each.trim() === each) expect(left).not.toContain(each);
        }
      },
    ),
  );
});

test.each(["second-known-value", "known value/1", "abcdefg", "ключ-и-значение"])(
  "%s in base64 of base64 is found",
  (value) => {
    const twice = Buffer.from(`${Buffer.from(value).toString("base64")}\n`).toString("base64");
    const { text, redacted } = createRedactor({ known: [value] }).redact(`x ${twice} y`);
    expect(redacted).toBe(true);
    // At the end some characters mix with the line end; they hold less than one byte of the value.
    expect(Buffer.from(/x .*?\*\*\*REDACTED\*\*\*(.*) y/.exec(text)?.[1] ?? twice, "base64").length).toBeLessThan(6);
  },
);
