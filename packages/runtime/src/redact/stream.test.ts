import fc from "fast-check";
import { expect, test } from "vitest";
import { REDACTION_MARKER } from "../protocol/marker.ts";
import { createRedactor } from "./redact.ts";

/** Tokens are put together, so that none stands in this file. */
function joined(...parts: readonly string[]): string {
  return parts.join("");
}

const token = joined("gh", "p_", "a1B2".repeat(9));
const jwtStart = joined("ey", "JhbGciOiJIUzI1NiJ9", ".ey", "J");
const jwt = joined(jwtStart, "zdWIiOiIxIn0.", "a1B2".repeat(10));
const telegram = joined("729461038", ":A", "A", "a1B2".repeat(8), "c");
const body = Array.from({ length: 12 }, (_, i) => `${i}MIIEpAIBAAKCAQEA${"a1B2c3D4".repeat(6)}`.slice(0, 64)).join(
  "\n",
);
const pem = joined("-----BEGIN RSA PRIV", "ATE KEY-----\n", body, "\n-----END RSA PRIV", "ATE KEY-----");
const KNOWN = ["known value/1", "known value/1 and more", "second-known-value"];
const redactor = createRedactor({ known: KNOWN });

// oxfmt-ignore
const PAIRS = [
  '{"value": "abc1def2", "name": "X_TOKEN"}', "value: abc1def2\n  name: DB_PASSWORD\n", 'value="', "value: ", '", "name": "', "password: &pw hunter2x9\n", "&a ",
  'variable "db_password" {\n  default = "hunter2x9"\n}\n', 'variable "', '" {', "password\thunter2x9\n", "jdbc:oracle:thin:scott/hunter2@db", "?a=1&sig=a1B2c3D4e5F6&b=2",
  `"d":"${"a1B2".repeat(11)}"`, '"d": "', '"kty":"oct","k":"a1B2a1B2a1B2a1B2a1"', '"kty":"oct"', "gh secret set N --body hunter2x9\n", "pulumi config set --secret dbPassword hunter2x9\n",
];

/** Lines of a key and of a certificate with something around them. */
const FRAMED = [
  body.replaceAll(/^.*$/gm, "key = $&"),
  body.slice(-194).replaceAll(/^.*$/gm, "$&$$"),
  `${body.slice(-129).replaceAll(/^.*$/gm, "<td>$&</td>")}\n`,
  joined(body.slice(-90).replaceAll(/^.*$/gm, "x> $&"), "\nx> -----END RSA PRIV", "ATE KEY-----\n"),
  `${body.slice(-300).replaceAll(/^.*$/gm, "x> $&")}\nx> -----END CERTIFICATE-----\n`,
  "x> -----BEGIN CERTIFICATE-----\n",
  "key = ",
  "x> ",
  `${body.slice(-64)}\n`,
  body.slice(-129).replaceAll("c3D4", "\u001b[01;31m\u001b[Kc3D4\u001b[m\u001b[K"),
  `${body.slice(-129).replaceAll(/^.*$/gm, (line) => line.replace(/.{50}/, "$&\n"))}\n`,
];

/** As `grep --color` and diffs show them. */
const COLOURED = [
  `${token.slice(0, 9)}\u001b[01;31m\u001b[K${token.slice(9, 14)}\u001b[m\u001b[K${token.slice(14)}`,
  `${token.slice(0, 2)}\u001b[31m${token.slice(2)}\u001b[m `,
  "DB_\u001b[01;31m\u001b[KPASS\u001b[m\u001b[KWORD=hun\u001b[01;31m\u001b[Kter\u001b[m\u001b[K2\n",
  "second-\u001b[7mknown\u001b[m-value",
  "se\u001b[7mcond-known-value\u001b[m",
  "+second-\n+known-value\n",
  "\u001b[32m+second-\u001b[m\n\u001b[32m+  known-value\u001b[m\n",
  "\u001b[m",
  "\u001b[01;",
  "\u001b",
];

// oxfmt-ignore
const PIECES = [
  token, jwt, pem, ...KNOWN,
  body.slice(65), `${body.slice(-90)}\n-----END RSA PRIV`, joined(body.slice(-90), "\n-----END RSA PRIV", "ATE KEY-----\n"), `${body.slice(-300)}\n-----END CERTIFICATE-----\n`, "-----BEGIN CERTIFICATE-----\n", "mysql -phunter2 db\n", "redis-cli -a hunter2 ", "*:*:*:bob:hunter2\n", "echo hunter2 | sudo -S ",
  ...PAIRS,
  ...COLOURED, ...FRAMED,
  pem.slice(0, 300), pem.replaceAll("\n", "\\n"),
  "export MY_TOKEN=abcdef\n", 'MY_TOKEN="abc def"', "password: hunter2\n", '{"apiKey": "abc123"}', '{\\"token\\":\\"abcdef\\"}',
  "password: |\n  line one\n  line two\n", "password: |\n  endless", 'secret = """\nabc\ndef\n"""\n', "--token abcdef1 ", "password=ab,cd,user=bob&x=1;",
  "name: DB_PASSWORD\n  value: abcdef\n", "Authorization: Bearer abcdefg\n", "Bearer a1b2c3d4e5f6", "Cookie: sid=abcdef1234; theme=dark\n",
  "postgres://bob:hunter2@db/app", "https://example.com/path?access_token=abcdef&b=1", "curl -u bob:hunter2 x\n", telegram,
  joined("AK", "IA", "A2B3C4D5E6F7G2H3,", "a1B2/".repeat(8), "\n"), joined("MT", "a1B2".repeat(6), ".a1B2c3.", "a1B2".repeat(8)), REDACTION_MARKER, `token=${REDACTION_MARKER}`,
  'MY_TOKEN="abc\ndef"\n', 'api_keys = ["abcd1234", "efgh5678"]', "| DB_PASSWORD | s3cr3t-cell |\n", 'name="password"\r\n\r\nhunter2\r\n', 'ConvertTo-SecureString "hunter2"',
  "CREATE USER x IDENTIFIED BY 'hunter2';\n", "<password>hunter2</password>", 'password: str = "hunter2"', '#define API_TOKEN "abc-4567-def"\n', "sshpass -p hunter2 ", "machine a login b password hunter2\n",
  '{"name":"X_TOKEN","value":"abcdef"}', '{"args":["--token","abcdef"]}', "%22token%22%3A%22abcdef%22", "\u001b[33mtoken\u001b[0m: \u001b[32mabcdef1\u001b[0m", "api key: a1b2c3d4 ", "docker://a:b@sha256:00",
  "token: string;\n", "password: null\n", "const token = getToken();", "max_tokens: 4096", "key: value", "a secret: ", "pass", "tok", "en=", '"', "'", "\\", "\\\\", '\\"',
  " ", "\n", "\r\n", "\t", "=", ":", ",", "-----BEGIN ", "-----", "eyJ", "x", "abc", "日本語 ", "🙂", "\u001b[32m", "a".repeat(100), "aB3/".repeat(300), " ".repeat(90),
];

function inPieces(text: string, cuts: readonly number[]): string {
  const stream = redactor.stream();
  const places = [...new Set(cuts.map((cut) => cut % (text.length + 1)))].sort((a, b) => a - b);
  let result = "";
  let at = 0;
  for (const place of [...places, text.length]) {
    result += stream.push(text.slice(at, place));
    at = place;
  }
  result += stream.end();
  expect(stream.redacted).toBe(redactor.redact(text).redacted);
  return result;
}

/** Something that is a secret, or may become one, with nothing between it and a marker. */
// oxfmt-ignore
const BEFORE_MARKER = [
  token, jwt, "MY_TOKEN=abcdef", "password: x", '"password":"hunter2', "Bearer a1b2c3d4e5", "postgres://bob:hun", "mysql -phun", "sshpass -p hun", "Cookie: sid=abc", "--token ab",
  joined("AK", "IA", "A2B3C4D5E6F7G2H3"), joined("S", "K", "0123456789abcdef".repeat(2)), `${"0123456789abcdef".repeat(2)}-us1`, "Basic dXNlcjpz", "api_key=a1b2c3d4e5", "password: correct horse battery", "密码：hunter2", "CREATE USER x IDENTIFIED BY 'hun", "word", "key: ",
];
const glued = fc
  .constantFrom(...BEFORE_MARKER)
  .chain((each) => fc.constantFrom(each, `${each}${REDACTION_MARKER}`, `${each}known value/1`));
const piece = fc.constantFrom(...PIECES);
const anyPiece = fc.oneof({ arbitrary: piece, weight: 4 }, { arbitrary: glued, weight: 1 });
const anyText = fc
  .oneof(fc.array(piece, { maxLength: 25 }), fc.array(anyPiece, { maxLength: 25 }))
  .map((pieces) => pieces.join(""));

/**
 * Each run tries other texts. A failure shows its seed: `REDACT_SEED` repeats it, with the same `REDACT_RUNS`, which
 * also tries more texts than a run of all tests has time for.
 */
const { REDACT_RUNS = "1500", REDACT_SEED } = process.env;
const numRuns = Number(REDACT_RUNS);
const RUNS = REDACT_SEED === undefined ? { numRuns } : { numRuns, seed: Number(REDACT_SEED) };
const LIMIT = { timeout: 180_000 + 10 * numRuns };

test("however a text is cut, the pieces redacted are the whole redacted", LIMIT, () => {
  const cuts = fc.array(fc.nat(20_000), { maxLength: 40 });
  fc.assert(
    fc.property(anyText, cuts, (text, places) => {
      expect(inPieces(text, places)).toBe(redactor.redact(text).text);
    }),
    RUNS,
  );
});

test("a text that comes character by character is redacted the same", LIMIT, () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const short = text.slice(0, 3000);
      expect(
        inPieces(
          short,
          Array.from(short, (_, i) => i),
        ),
      ).toBe(redactor.redact(short).text);
    }),
    { ...RUNS, numRuns: Math.ceil(numRuns / 5) },
  );
});

test("redacting twice changes nothing more", LIMIT, () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const once = redactor.redact(text).text;
      expect(redactor.redact(once)).toEqual({ text: once, redacted: false });
    }),
    RUNS,
  );
});

test("redacting data twice changes nothing more", LIMIT, () => {
  fc.assert(
    fc.property(anyText, anyText, (one, two) => {
      const lines = [
        { path: "a", line: 1, text: one },
        { path: "a", line: 2, text: two },
      ];
      const data = { password: one, note: two, args: ["--token", one, two], lines, name: "X_TOKEN", value: two };
      const once = redactor.redactValue(data).value;
      expect(redactor.redactValue(once)).toEqual({ value: once, redacted: false });
    }),
    { ...RUNS, numRuns: Math.ceil(numRuns / 5) },
  );
});

const line64 = body.slice(-64);
const word80 = "a1B2c3D4".repeat(10);
const ATE = "ATE";

/** What a rule read behind a secret when it was still there has to be what it reads behind the marker. */
// oxfmt-ignore
const AGAIN = [
  { title: "a program's name that is itself a secret",               text: "redis-cli -a hunter2 a secret: redis-cli -a hunter2 " },
  { title: "a program's name at the end of a pair that is a secret", text: "sshpass -p hunter2 --token abcdef1 password=ab,cd,user=bob&x=1;mysql -phunter2 db\n" },
  { title: "a secret longer than a command is read",                 text: `redis-cli -a hunter2 ${pem}-----redis-cli -a hunter2 ` },
  { title: "a secret longer than what may stand before a pipe's end", text: `echo hunter2 | sudo --token ${word80} -S true\n` },
  { title: "the last word of a command behind a secret",             text: `htpasswd -b --token=${"a1B2".repeat(160)} file bob\n` },
  { title: "a token in a certificate without its first line",        text: `${line64}\na461038:A${"a1B2c3D4".repeat(4)}\n-----END CERTIFICATE-----\n` },
  { title: "a token between a word and the end of a private key",    text: `hunter2\n${jwt}\n-----END PRIV${ATE} KEY-----\n` },
  { title: "a known value in the place of a line's number",          text: `${line64}\n=${REDACTION_MARKER}known value/1:${line64}\n-----END CERTIFICATE-----\n` },
  { title: "a key that is longer than a line of one",                text: `2c3D\nMIIEpAIBAAKCAQEAa1B2${"c3D4a1B2".repeat(10)}\n-----END PRIV${ATE} KEY-----\n` },
  { title: "a word of a command",                                    text: "sshpass -p hunter2 token=\\nn= " },
  { title: "the rest of a sentence",                                 text: "TOKEN: -token abcdef1\n" },
  { title: "a token that a known value goes on from",                text: `${joined("AK", "IA", "A2B3C4D5E6F7G2H3")}known value/1` },
  { title: "user and password that a known value goes on from",      text: "Basic dXNlcjpzknown value/1" },
  { title: "a line of .pgpass with a known value as its database",   text: "m:5432:known value/1:a:hunter2" },
  { title: "a name of a secret within a line of .pgpass",            text: 'm:5432:token:cdef":hunter2' },
  { title: "a name of a secret within what looks like a type",       text: 'Authorization: ENV TOKEN KEN="c de' },
  { title: "an escape between a name and its value",                 text: "%20http -a :b token%3Dx/:@" },
  { title: "a name with a token in it before a block",               text: "tokenxoxb-n-password:|\n etwo" },
  { title: "the name of a cookie that is a token",                   text: `Cookie:M${"1B2a".repeat(6)}.a1B2c3.${"a1B2".repeat(7)}password=dJaG1E9B7m5k3hNf` },
  { title: "a public block whose first line is a secret",            text: `oc login -p -----BEGIN E-----\n${line64}` },
  { title: "a public block with a short secret in its first line",   text: `-----BEGIN E-----\u001b[33mtoken\u001b[0m:def1\u001b[0m1MII7${line64}\n${line64}` },
  { title: "a key's first line between an id and its key",           text: `${joined("AK", "IA", "A2B3C4D5E6F7G2H3")}-----BEGIN PRIV${ATE} KEY-----\n${"a1B2c3D4".repeat(5)}` },
  { title: "a decoded token right behind a known value",             text: `%22known value/1%67hp_${"a1B2".repeat(9)}` },
  { title: "an unquoted token right behind a key",                   text: `a''-----BEGIN PRIV${ATE} KEY-----g\\hp_${"a1B2".repeat(9)}` },
  { title: "a key that a marker follows",                            text: `a ${pem}${REDACTION_MARKER}` },
  { title: "a token between a known value and the name of a block",  text: `passsecond-known-value${joined("S", "K", "0123456789abcdef".repeat(2))}password: |\n  endless` },
  { title: "half a marker behind a known value",                     text: "known value/1 and moreREDACTED***passwd:ne o" },
  { title: "a block with a marker and a quoted secret in it",         text: `password: |\n  endless${REDACTION_MARKER}MY_TOKEN="abc def"${REDACTION_MARKER}` },
  { title: "a block with an address in it",                          text: `password: |\n  endlesspostgres://bob:hunter2@db/app\\${REDACTION_MARKER}` },
  { title: "a token within the value of an address",                 text: `postgres://bob:hunter2@db/appapi_key=a1b2c3d4e5${telegram}{"args":["--token","abcdef"]}` },
  { title: "commands within a quoted value",                         text: '"password":"hunter2-----BEGIN echo hunter2 | sudo -S password: hunter2\n' },
] as const;

test.each(AGAIN)("redacting twice changes nothing more behind $title", ({ text }) => {
  const once = redactor.redact(text);
  expect(once.redacted).toBe(true);
  expect(redactor.redact(once.text)).toEqual({ text: once.text, redacted: false });
  expect(inPieces(once.text, [once.text.length >> 1])).toBe(once.text);
});

const twilio = joined("S", "K", "0123456789abcdef".repeat(2));

// oxfmt-ignore
const ONE_PUSH = [
  { title: "a token of fixed length before one that is not over",    text: `${twilio}${telegram}known ` },
  { title: "the same before a word that may be a known value",       text: `${twilio}${telegram}${"a".repeat(40)}` },
  { title: "colours in a token on a line that is held as a whole",   text: `${COLOURED[4] ?? ""}${COLOURED[0] ?? ""}"d": "${joined("AK", "IA", "A2B3C4D5E6F7G2H3")},${"a1B2/".repeat(8)}\n` },
] as const;

test.each(ONE_PUSH)("a stream redacts $title as the whole", ({ text }) => {
  for (let cut = 0; cut <= text.length; cut++) expect(inPieces(text, [cut])).toBe(redactor.redact(text).text);
});

test("every piece is redacted at every single cut", () => {
  for (const piece of PIECES) {
    const text = `before ${piece.slice(0, 600)} after`;
    const whole = redactor.redact(text).text;
    for (let cut = 0; cut <= text.length; cut++) expect(inPieces(text, [cut])).toBe(whole);
  }
});

test("lines without secrets come out at once", () => {
  const stream = redactor.stream();
  expect(stream.push("compiling 12 files\n")).toBe("compiling 12 files\n");
  expect(stream.push("done: see https://example.com/docs\n")).toBe("done: see https://example.com/docs\n");
  expect(stream.push("password: hunter2\nok\n")).toBe(`password: ${REDACTION_MARKER}\nok\n`);
  expect(stream.redacted).toBe(true);
  expect(stream.end()).toBe("");
});

// oxfmt-ignore
const ENDLESS = [
  { title: "a line without end",          start: "",                                          piece: "abcdefgh, ",  left: /^(?:abcdefgh, )*$/ },
  { title: "one word without end",        start: "",                                          piece: "abcdefgh",    left: /^(?:abcdefgh)*$/ },
  { title: "a private key without end",   start: pem.slice(0, 40),                            piece: `${body}\n`,   left: /^\*\*\*REDACTED\*\*\*\n?$/ },
  { title: "a value without end",         start: "MY_TOKEN=",                                 piece: "abcdefgh",    left: /^MY_TOKEN=\*\*\*REDACTED\*\*\*$/ },
  { title: "a quoted value without end",  start: '{"password":"',                             piece: "ab cd\\\\",   left: /^\{"password":"\*\*\*REDACTED\*\*\*$/ },
  { title: "a block scalar without end",  start: "password: |\n  first\n",                    piece: "  abc\n",     left: /^password: \|\n {2}\*\*\*REDACTED\*\*\*\n?$/ },
  { title: "a token without end",         start: joined("gh", "p_"),                          piece: "a1B2c3D4",    left: /^\*\*\*REDACTED\*\*\*$/ },
  { title: "a web token without end",     start: jwtStart,                                    piece: "a1B2c3D4",    left: /^\*\*\*REDACTED\*\*\*$/ },
  { title: "triple quotes without end",   start: 'token = """abc\n',                          piece: "abc def\n",   left: /^token = """\*\*\*REDACTED\*\*\*$/ },
] as const;

for (const { title, start, piece, left } of ENDLESS) {
  test(`${title} holds back no more than the bound, and leaks nothing`, () => {
    const stream = redactor.stream();
    let given = start.length;
    let result = stream.push(start);
    for (let i = 0; i < 40_000; i++) {
      given += piece.length;
      result += stream.push(piece);
      if (!result.includes(REDACTION_MARKER)) expect(given - result.length).toBeLessThan(80 * 1024);
    }
    result += stream.end();
    expect(result).toMatch(left);
    expect(result.includes(REDACTION_MARKER)).toBe(left.source.includes("REDACTED"));
  });
}

test("a stream that has ended takes no more", () => {
  const stream = redactor.stream();
  stream.end();
  expect(() => stream.push("x")).toThrow(/has ended/);
});
