import { generateKeyPairSync, randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { REDACTION_MARKER } from "../../protocol/marker.ts";
import { createRedactor, redact } from "../redact.ts";

const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
const ec = generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey;
const ed = generateKeyPairSync("ed25519").privateKey;
const publicKey = generateKeyPairSync("rsa", { modulusLength: 3072 }).publicKey;

function wrap(base64: string, width: number): string {
  return base64.replaceAll(new RegExp(`.{${width}}(?=.)`, "g"), "$&\n");
}

function block(label: string, width: number, bytes = 700): string {
  const body = wrap(randomBytes(bytes).toString("base64"), width);
  return `-----BEGIN ${label}-----\n${body}\n-----END ${label}-----\n`;
}

// Put together, so that no scanner takes this file for a leak.
const SECRET = ["PRIVATE", "KEY"].join(" ");
const KEYS: Readonly<Record<string, string>> = {
  "PKCS #1": rsa.export({ type: "pkcs1", format: "pem" }) as string,
  "PKCS #8": rsa.export({ type: "pkcs8", format: "pem" }) as string,
  "an encrypted PKCS #8": rsa.export({
    type: "pkcs8",
    format: "pem",
    cipher: "aes-256-cbc",
    passphrase: "x",
  }) as string,
  "SEC 1": ec.export({ type: "sec1", format: "pem" }) as string,
  OpenSSH: block(`OPENSSH ${SECRET}`, 70),
  PGP: block(`PGP ${SECRET} BLOCK`, 64).replace("\n-----END", `\n=aB3d\n-----END`),
  PuTTY: `Private-Lines: 14\n${wrap(randomBytes(700).toString("base64"), 64)}\nPrivate-MAC: 00ff00ff\n`,
};

/** Parts of a key, as tools show them. */
const SHOWN: Readonly<Record<string, (lines: readonly string[]) => string>> = {
  "its last two lines": (lines) => `${lines.slice(-2).join("\n")}\n`,
  "its last three lines": (lines) => `${lines.slice(-3).join("\n")}\n`,
  "its last three lines, without an end of line": (lines) => lines.slice(-3).join("\n"),
  "its last lines with CRLF": (lines) => lines.slice(-4).join("\r\n"),
  "three lines in the middle": (lines) => lines.slice(2, 5).join("\n"),
  "one line": (lines) => `${lines[2]}\n`,
  "hits of a search": (lines) =>
    lines
      .slice(2, 5)
      .map((line, i) => `deploy/key.pem:${i + 3}:${line}`)
      .join("\n"),
  "lines around a hit": (lines) =>
    lines
      .slice(2, 5)
      .map((line, i) => `deploy/key.pem-${i + 3}-${line}`)
      .join("\n"),
  "the hits of one file": (lines) =>
    lines
      .slice(2, 5)
      .map((line) => `deploy/key.pem:${line}`)
      .join("\n"),
  "numbered lines": (lines) =>
    lines
      .slice(2, 5)
      .map((line, i) => `     ${i + 3}\t${line}`)
      .join("\n"),
  "lines of a diff": (lines) =>
    lines
      .slice(2, 5)
      .map((line) => `+${line}`)
      .join("\n"),
  "removed lines of a diff": (lines) =>
    lines
      .slice(2, 5)
      .map((line) => `-${line}`)
      .join("\n"),
  "indented lines": (lines) =>
    lines
      .slice(2, 5)
      .map((line) => `    ${line}`)
      .join("\n"),
  "quoted lines": (lines) =>
    lines
      .slice(2, 5)
      .map((line) => `> ${line}`)
      .join("\n"),
  "the end in JSON": (lines) => JSON.stringify({ text: `${lines.slice(-4).join("\n")}\n` }),
  "the middle in JSON": (lines) => JSON.stringify({ text: `\n${lines.slice(2, 5).join("\n")}\n` }),
  "the end in source code": (lines) =>
    lines
      .slice(-4)
      .map((line) => `  "${line}\\n" +`)
      .join("\n"),
};

for (const [kind, pem] of Object.entries(KEYS)) {
  for (const [title, show] of Object.entries(SHOWN)) {
    test(`of ${kind} without its beginning nothing is shown: ${title}`, () => {
      const lines = pem.trimEnd().split("\n");
      const text = `start\n${show(lines)}`;
      const whole = redact(text);
      expect(whole.text).toContain(REDACTION_MARKER);
      for (const line of lines.slice(1, -1)) {
        if (line.length >= 12) expect(whole.text).not.toContain(line.slice(0, 12));
      }
      expect(redact(whole.text)).toEqual({ text: whole.text, redacted: false });
      for (let size = 1; size < 100; size += 7) expect(inPieces(text, size)).toBe(whole.text);
    });
  }
}

function inPieces(text: string, size: number): string {
  const stream = createRedactor().stream();
  let result = "";
  for (let at = 0; at < text.length; at += size) result += stream.push(text.slice(at, at + size));
  return result + stream.end();
}

const DER: Readonly<Record<string, Buffer>> = {
  "PKCS #1": rsa.export({ type: "pkcs1", format: "der" }),
  "PKCS #8": rsa.export({ type: "pkcs8", format: "der" }),
  "an encrypted PKCS #8": rsa.export({ type: "pkcs8", format: "der", cipher: "aes-256-cbc", passphrase: "x" }),
  "SEC 1": ec.export({ type: "sec1", format: "der" }),
  "PKCS #8 of a curve": ec.export({ type: "pkcs8", format: "der" }),
  Ed25519: ed.export({ type: "pkcs8", format: "der" }),
};

for (const [kind, der] of Object.entries(DER)) {
  test(`${kind} as DER in base64 is redacted, on one line and wrapped`, () => {
    const base64 = der.toString("base64");
    expect(redact(`key: ${base64} end`).text).toBe(`key: ${REDACTION_MARKER} end`);
    expect(redact(`{"key":"${base64}"}`).text).toBe(`{"key":"${REDACTION_MARKER}"}`);
    for (const width of [64, 76]) expect(redact(`${wrap(base64, width)}\n`).text).toBe(`${REDACTION_MARKER}\n`);
  });
}

const PUBLIC: Readonly<Record<string, string>> = {
  "a certificate": block("CERTIFICATE", 64),
  "a chain of certificates": block("CERTIFICATE", 64) + block("CERTIFICATE", 64),
  "a request": block("CERTIFICATE REQUEST", 64),
  "a public key": publicKey.export({ type: "spki", format: "pem" }) as string,
  "a public key of PKCS #1": publicKey.export({ type: "pkcs1", format: "pem" }) as string,
  "a signature": block("PGP SIGNATURE", 64).replace("-----\n", "-----\nVersion: GnuPG v2\n\n"),
  "a public key of SSH": block("x", 70)
    .replaceAll("-----BEGIN x-----", "---- BEGIN SSH2 PUBLIC KEY ----")
    .replaceAll("-----END x-----", "---- END SSH2 PUBLIC KEY ----"),
};

for (const [kind, pem] of Object.entries(PUBLIC)) {
  test(`${kind} stays, whole, numbered, searched and from its end`, () => {
    const lines = pem.trimEnd().split("\n");
    const texts = [
      pem,
      JSON.stringify({ pem }),
      lines.map((line, i) => `${i + 1}\t${line}`).join("\n"),
      lines.map((line, i) => `a/b.pem:${i + 1}:${line}`).join("\n"),
      lines.map((line) => `    ${line}`).join("\n"),
      `${lines.slice(-5).join("\n")}\n`,
    ];
    for (const text of texts) {
      expect(redact(text)).toEqual({ text, redacted: false });
      expect(inPieces(text, 41)).toBe(text);
    }
  });
}

test("base64 of other things stays: images, wrapped mail, sums, one long line", () => {
  const image = randomBytes(3000).toString("base64");
  const sums = Array.from({ length: 20 }, () => `sha384-${randomBytes(48).toString("base64")}`).join("\n");
  for (const text of [
    image,
    `${wrap(image, 76)}\n`,
    sums,
    `<script integrity="${sums.split("\n")[0]}">`,
    `x = "${image.slice(0, 64)}";`,
  ]) {
    expect(redact(text)).toEqual({ text, redacted: false });
  }
});

test("a line of an encrypted key that is mostly identifiers of algorithms is redacted, whatever its salt", () => {
  const identifiers = "ICCAAwDAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEE";
  for (const salt of ["TpcdJg", "AAAAAg", "abcdeg"]) {
    const line = `${salt}${identifiers}${"CHudvVbxVpMaBcDe".slice(0, 64 - salt.length - identifiers.length)}`;
    expect(line).toHaveLength(64);
    expect(redact(`start\n${line}\n`).text).toBe(`start\n${REDACTION_MARKER}\n`);
  }
});
