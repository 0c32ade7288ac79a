import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { REDACTION_MARKER } from "../../protocol/marker.ts";
import { createRedactor, redact } from "../redact.ts";

const M = REDACTION_MARKER;
const X = "hX9kQ2mPzT4v";

// oxfmt-ignore
const HIDDEN: readonly (readonly [before: string, after: string])[] = [
  // Anchors of YAML
  ["password: &pw ", "\n"], ["db:\n  admin_password: &shared-1 ", "\nuser: bob\n"], ["apiToken: &t !!str ", "\n"],
  ['secret: &s "', '"\n'], ["password: &pw '", "'\n"],
  // The value before its name
  ['{"value":"', '","name":"DB_PASSWORD"}'], ['{ "value": "', '", "name": "DB_PASSWORD" }'], ['{"Value":"', '","Key":"api_secret"}'],
  ['{\n  "value": "', '",\n  "name": "SMTP_PASSWORD"\n}'], ["- value: ", "\n  name: DB_PASSWORD\n"], ["{'value': '", "', 'key': 'admin_password'}"],
  ['{\\"value\\":\\"', '\\",\\"name\\":\\"DB_PASSWORD\\"}'], ['<entry value="', '" key="client_secret"/>'], ['<add value="', '" name="dbPassword" />'],
  // And behind it
  ['{"name":"DB_PASSWORD","value":"', '"}'], ["- name: DB_PASSWORD\n  value: ", "\n"],
  // Variables of Terraform
  ['variable "db_password" { default = "', '" }'], ['variable "db_password" {\n  type        = string\n  description = "of the database"\n  default     = "', '"\n}\n'],
  ["variable 'api_token' {\n  sensitive = true\n  default='", "'\n}"],
  // Cells
  ["password\t", "\n"], ["user\tbob\npassword\t", "\n"], ["DB_PASSWORD\t\t", "\nnext\n"],
  // Addresses
  ["jdbc:oracle:thin:scott/", "@//db.example.com:1521/app"], ["jdbc:oracle:oci:app_user/", "@db:1521:XE"], ['url = "jdbc:oracle:thin:SYS/', '@(DESCRIPTION=x)"'],
  ["https://a.blob.core.windows.net/c/b?sv=2022-11-02&sig=", "&se=2030"], ["https://a.example.com/?sig=", "\n"], ["?a=1&amp;sig=", "&amp;b=2"],
  // Command lines
  ["gh secret set DEPLOY --body ", "\n"], ["gh secret set DEPLOY -b", " --repo a/b\n"], ['gh secret set DEPLOY --repo a/b -b "', '"\n'], ["gh secret set DEPLOY --body=", "\n"],
  ["pulumi config set dbPassword ", " --secret\n"], ["pulumi -s dev config set --secret --path 'a.b' ", "\n"], ["fly secrets set A_B=", "\n"], ["fly secrets set A_B=", " C_D=$X\n"],
  ["az keyvault secret set --vault-name v --name n --value ", "\n"], ["aws ssm put-parameter --name n --type SecureString --value ", "\n"],
];

test.each(HIDDEN)("the value between %j and %j is redacted", (before, after) => {
  const text = `${before}${X}${after}`;
  expect(redact(text).text).toBe(`${before}${M}${after}`);
  expect(redact(redact(text).text).redacted).toBe(false);
  for (const size of [1, 9, 50]) expect(inPieces(text, size)).toBe(`${before}${M}${after}`);
});

function inPieces(text: string, size: number): string {
  const stream = createRedactor().stream();
  let result = "";
  for (let at = 0; at < text.length; at += size) result += stream.push(text.slice(at, at + size));
  return result + stream.end();
}

test("of `pulumi config set --secret name x` the value is redacted too", () => {
  expect(redact(`pulumi config set --secret dbPassword ${X}\n`).text).not.toContain(X);
});

const WRITERS: readonly ((data: unknown) => string)[] = [
  (data) => JSON.stringify(data),
  (data) => JSON.stringify(data, null, 2),
  (data) => JSON.stringify({ text: JSON.stringify(data) }),
];

const PRIVATE = new Set(["d", "p", "q", "dp", "dq", "qi"]);

for (const [kind, { privateKey }] of Object.entries({
  RSA: generateKeyPairSync("rsa", { modulusLength: 2048 }),
  EC: generateKeyPairSync("ec", { namedCurve: "P-256" }),
  Ed25519: generateKeyPairSync("ed25519"),
})) {
  test(`the private members of a JSON Web Key (${kind}) are redacted, the public ones are not`, () => {
    const key = privateKey.export({ format: "jwk" }) as Record<string, string>;
    const hidden = Object.fromEntries(
      Object.entries(key).map(([name, value]) => [name, PRIVATE.has(name) ? M : value]),
    );
    for (const write of WRITERS) {
      expect(redact(write(key)).text).toBe(write(hidden));
      expect(inPieces(write(key), 31)).toBe(write(hidden));
    }
    expect(createRedactor().redactValue({ keys: [key] }).value).toEqual({ keys: [hidden] });
  });
}

test("a symmetric JSON Web Key is redacted where its type stands near, before it or behind it", () => {
  const key = { kty: "oct", alg: "HS256", k: "aGVsbG8td29ybGQtMTIzNA", kid: "1" };
  for (const { kty, k, ...rest } of [key, { ...key, k: "abcdefghijklmnopqrstuv" }]) {
    for (const write of WRITERS) {
      for (const [data, hidden] of [
        [
          { kty, ...rest, k },
          { kty, ...rest, k: M },
        ],
        [
          { k, ...rest, kty },
          { k: M, ...rest, kty },
        ],
      ]) {
        expect(redact(write(data)).text).toBe(write(hidden));
        expect(inPieces(write(data), 7)).toBe(write(hidden));
        expect(redact(write(hidden)).redacted).toBe(false);
      }
    }
  }
});

// oxfmt-ignore
const SHOWN = [
  '{"value":"dark","name":"theme"}', '{"value":"Zx81Qp02","name":"colour"}', '{"value":"${DB_PASSWORD}","name":"DB_PASSWORD"}', "- value: 12\n  name: max_tokens\n",
  "fn f(password: &str, token: &mut TokenStream) {}", "password: &'static str", "let p = Args { password: &config.password };", "password: *pw\n",
  'variable "db_password" {\n  type      = string\n  sensitive = true\n}\n', 'variable "region" {\n  default = "eu-west-1"\n}\n', 'variable "db_password" {}\nvariable "region" { default = "eu-west-1" }',
  "user\tpassword\temail\n", "password\tvarchar(255)\tNO\n", "4.0K\tpassword\n", "token\tdescription\n", "M\tsrc/password\n",
  "jdbc:oracle:thin:@//db.example.com:1521/app", "jdbc:oracle:thin:@db:1521:XE", "jdbc:oracle:thin:scott/${PASSWORD}@db",
  "?sig=true&b=1", "&sig=sha256&x", '<path "d":"M10 10 H 90 V 90 H 10 Z">', '{"d":"2024-05-01","p":1,"q":"search words"}', '{"k":"aGVsbG8td29ybGQtMTIzNA","v":1}',
  "gh secret list --repo a/b\n", "gh pr create --body text\n", "pulumi config get region\n", "pulumi config set aws:region eu-west-1\n",
  "the values of `gh secret set` and `pulumi config set --secret`.\n", "(`pulumi config set --secret`)", '"gh secret -b ", "pulumi config set --secret ",',
] as const;

test.each(SHOWN)("%j stays", (text) => {
  expect(redact(text)).toEqual({ text, redacted: false });
  expect(inPieces(text, 5)).toBe(text);
});
