import { expect, test } from "vitest";
import { REDACTION_MARKER } from "../protocol/marker.ts";
import { createRedactor, redact } from "./redact.ts";

const SIZE = 300_000;
const token = ["gh", "p_", "a1B2".repeat(9)].join("");

/** Texts made to be slow. A rule that is not linear does not come to an end here in the time a test has. */
// oxfmt-ignore
const UNITS = [
  "a", "A", "0", "=", ":", "-", "_", ".", "/", "\\", '"', "'", "`", " ", "\t", "\n", "\r\n", "é", "🙂", "\u0000", "\ud800", "*", "@", "%", "&", "{", "[", "(", "<", "$", "#", "|",
  "--token", "--token ", "--token=", "token", "token ", "token:", "token=", "token =", "token_", "tokenToken", "TOKEN=", "_TOKEN", ".token", "-token",
  "password", "password=", "password:", "password: ", 'password="', "password='", "password=\\", '\\"password\\":\\"', "password: |\n", "password: |\n ", 'password = """', "password==", "PASSWORD=$", "password=a,", "password=a&", "password=a;",
  "secret", "secret:", "key", "key:", "api_key=", "apikey", "api key: ", "auth", "auth:", "Authorization: ", "Authorization: Bearer ", "Bearer ", "Bearer a1b2c3d4", "Basic ", "Basic YTpi", "Cookie: ", "Cookie: a=", "cookie", "a=b; ",
  "://", "x://", "x://a:", "x://a:b", "x://a:b@", "x://:@", "http://a:b/", "curl ", "curl -u ", "curl -u a:",
  "eyJ", "eyJ.", "eyJaaaaaaaa.", "eyJ_", "-eyJ", "AKIA", "AKIA ", "ASIA", "AKIAA2B3C4D5E6F7G2H3", "ghp_", "ghp_a", "github_pat_", "sk-", "sk-a", "xoxb-", "AIza", "SG.", "SG.a.", "SK", "AC", "npm_", "hf_", "glpat-", "1:A", "123456789:A", "M.", ".aaaaaa.", "Q~", "-us1", "sig=",
  "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----\n", "-----BEGIN CERTIFICATE-----", "-----END ", "-----", "LS0tLS1CRUdJTi", "Private-Lines: 1\n", "b3BlbnNzaC1rZXktdjE",
  REDACTION_MARKER, "***REDACTED", "REDACTED***", "***", `token=${REDACTION_MARKER}`, "known-value", "known-", "identified by '", "name: X_TOKEN\n", "name: X_TOKEN\nvalue: ", '"token", ', '["--token", ', "<password>", "<password>a<", "%22token%22%3A%22", "token%3D",
  "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1hJ3kL5mN7pQ9rS1tU3v\n", "aB3dE5fG7hJ9kL1m\n", "a1B2\n", "a1B2\\n", "MII", "MIIEpAIBAAKCAQEA", "MIIEpAIBAAKCAQEA\n", "-----END CERTIFICATE-----\n", "1-1-", "a:1:", "mysql ", "mysql -p", "mysql -pa ", "redis-cli -a ", "docker login -p ", "curl -u a:b ", "echo a | ", ":*:", "*:*:*:a:b ", "$6$", "$6$a$", "{SHA}",
  "value", "value:", 'value="', 'value="a", name="token", ', '"d":"', '"d":"a1B2', ":thin:", ":thin:a/", 'variable "token" {', 'variable "token" { default = "', "password\t", "password\ta1\t", "password: &a ", "&sig=", "gh secret -b ", "pulumi config --secret ", "\u001b[31maB3dE5fG7hJ9kL1m\u001b[m\n", "\u001b[K", "a\u001b[Kb", "x> aB3dE5fG7hJ9kL1m\n", "x> aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5bC7dE9fG1hJ3kL5mN7pQ9rS1tU3v$\n",
  "\u001b[32m", "\\n", "\\u0022", "\\ntoken=", "密码：", "sshpass -p ", "ENV X_TOKEN ", "set -x TOKEN ", "password: str = ", "password: A<", "token: a.b", "token: a_b ", "token = a.b.c;",
  "\\x41", "\\u{41}", "\\101", "\\\\u0041", "&#65;", "&#x41;", "&quot;", "%41", "%2541", "%252541", "%74oken=", "a%3db&", "&quot;token&quot;:&quot;", "\\u0022token\\u0022:\\u0022", "%22password%22%3A%22hunter2Zq9%22%2C",
  "ghp_a1B2\n", "ghp_a1B2\\\n", "ghp_a1B2=\n", 'ghp_a1B2" +\n"', "sk-a1B2\n", "eyJhbGci\n", "eyJaaaaaaaa.\n", "AKIA2\n", "AKIAA2B3\n",
  "know\n", "known-\n", "known-value=\n", "known-known-\\\n", "6b6e6f77", "6b 6e 6f 77 ", "a25vd24t",
  "curl \\\n", "curl -sSLku a:b ", "curl -u a:b\n", 'curl "', "mysql 'a ", '["mysql", "-px"], ', "openssl -k ", "zip -P ", "oc login -p ", "htpasswd -b ", "http -a a:b ", "kubectl --from-literal=a=b ", "mysqladmin password x ", "echo x | sudo -S ", "printf ",
  "a''", 'a""', "a'b", "'a'", "\\g", "\\g\\h", 'a\\"', "gh''p_a1B2", "gh''p_", "g\"h\"p_a", "\\ghp_", "$'", "a$'a'", '"x mysql x" ', "%22token%22%3A%22nmcli password x ", "sk-ask-aknow\\\n",
];

test.each(UNITS)("300 kB of %j come through", (unit) => {
  const text = unit.repeat(Math.ceil(SIZE / unit.length));
  const redactor = createRedactor({ known: ["known-value-that-is-not-there", "known-known-known-known-known-x"] });
  const once = redactor.redact(`start ${text}\n\n${token} end`);
  expect(once.text.startsWith("start ")).toBe(true);
  expect(once.text).not.toContain(token);
});

test("300 kB of units mixed at random come through", () => {
  let seed = 7;
  const next = (limit: number): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % limit;
  };
  for (let round = 0; round < 8; round++) {
    const few = Array.from({ length: 2 + next(5) }, () => UNITS[next(UNITS.length)] ?? "");
    let text = "";
    while (text.length < SIZE) text += few[next(few.length)] ?? "";
    expect(redact(`${text}\n\n${token}\n`).text).not.toContain(token);
  }
});

test("one long line of base64 is kept, and a token in its middle is not", () => {
  const line = Buffer.from(Array.from({ length: 220_000 }, (_, i) => (i * 7919 + (i >> 5)) & 255)).toString("base64");
  expect(redact(line).text).toBe(line);
  expect(redact(`${line} ${token} ${line}`).text).toBe(`${line} ${REDACTION_MARKER} ${line}`);
});

test("a long line holds as many secrets as it has", () => {
  const text = `{"password":"hunter2","id":1},`.repeat(10_000);
  expect(redact(text).text).toBe(`{"password":"${REDACTION_MARKER}","id":1},`.repeat(10_000));
});

test("a text holds as many commands with a known value as it has", () => {
  const { redact: redactKnown } = createRedactor({ known: ["known value/1"] });
  const count = 40_000;
  const { text } = redactKnown("sshpass -p hunknown value/1 ".repeat(count));
  expect(text).toBe(`sshpass -p ${REDACTION_MARKER} `.repeat(count));
});
