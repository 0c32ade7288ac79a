import { expect, test } from "vitest";
import { REDACTION_MARKER } from "../../protocol/marker.ts";
import { redact } from "../redact.ts";

const LINE = "MIIEpAIBAAKCAQEAx7Vn2p3Q4r5S6t7U8v9W0x1Y2z3a1B2c3D4e5F6g7H8j9K0m";
const BODY = Array.from({ length: 6 }, (_, i) => LINE.slice(i) + LINE.slice(0, i)).join("\n");

/** What a public key or a certificate holds: its first bytes are not those of a private key. */
const PUBLIC_LINE = LINE.replace("MIIEpAIBAAKC", "AAAAB3NzaC1y");
const PUBLIC_BODY = Array.from({ length: 6 }, (_, i) => PUBLIC_LINE.slice(i) + PUBLIC_LINE.slice(0, i)).join("\n");

function key(label: string, body = BODY): string {
  return [`-----BEGIN ${label}-----`, body, `-----END ${label}-----`].join("\n");
}

// Put together, so that no scanner takes this file for a leak.
const RSA = ["RSA", "PRIVATE", "KEY"].join(" ");
const LABELS = [
  RSA,
  ...["", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED "].map((kind) => `${kind}${["PRIVATE", "KEY"].join(" ")}`),
];
const PGP = `PGP ${["PRIVATE", "KEY", "BLOCK"].join(" ")}`;

for (const label of [...LABELS, PGP]) {
  test(`a block of "${label}" is redacted from its first line to its last`, () => {
    const pem = key(label);
    expect(redact(pem).text).toBe(REDACTION_MARKER);
    expect(redact(`before\n${pem}\nafter\n`).text).toBe(`before\n${REDACTION_MARKER}\nafter\n`);
    expect(redact(`before\r\n${pem.replaceAll("\n", "\r\n")}\r\nafter\r\n`).text).toBe(
      `before\r\n${REDACTION_MARKER}\r\nafter\r\n`,
    );
    expect(redact(JSON.stringify({ pem, id: 1 })).text).toBe(`{"pem":"${REDACTION_MARKER}","id":1}`);
    expect(redact(JSON.stringify(JSON.stringify({ pem }))).text).not.toContain(LINE.slice(0, 20));
    expect(redact(`${pem}\n${pem}`).text).toBe(`${REDACTION_MARKER}\n${REDACTION_MARKER}`);
  });
}

// oxfmt-ignore
const CUT = [
  { title: "with its end cut off",            text: key(RSA).slice(0, -45),                                 left: REDACTION_MARKER },
  { title: "followed by other text",          text: `-----BEGIN ${RSA}-----\n${BODY}\nDone in 3 s\n`,       left: `${REDACTION_MARKER}\nDone in 3 s\n` },
  { title: "cut off on one line",             text: `-----BEGIN ${RSA}-----\\n${BODY.replaceAll("\n", "\\n")}", "id": 1`, left: `${REDACTION_MARKER}", "id": 1` },
  { title: "cut off before another block",    text: `-----BEGIN ${RSA}-----\n${BODY}\n${key("CERTIFICATE", PUBLIC_BODY)}`, left: `${REDACTION_MARKER}\n${key("CERTIFICATE", PUBLIC_BODY)}` },
  { title: "with headers, its end cut off",   text: `-----BEGIN ${RSA}-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\n${BODY}`, left: REDACTION_MARKER },
  { title: "of nothing but its first line",   text: `see -----BEGIN ${RSA}----- for more`,                  left: `see ${REDACTION_MARKER} for more` },
  { title: "with log prefixes on each line",  text: `> -----BEGIN ${RSA}-----\n> ${BODY.replaceAll("\n", "\n> ")}\n> -----END ${RSA}-----\nok`, left: `> ${REDACTION_MARKER}\nok` },
  { title: "put together in source code",     text: `key = "-----BEGIN ${RSA}-----\\n" +\n  "${BODY.replaceAll("\n", '\\n" +\n  "')}\\n" +\n  "-----END ${RSA}-----";`, left: `key = "${REDACTION_MARKER}";` },
] as const;

for (const { title, text, left } of CUT) {
  test(`a private key ${title} leaves nothing of its body`, () => {
    expect(redact(text).text).toBe(left);
  });
}

test("the private half of a PuTTY key is redacted, the public half stays", () => {
  const text = `PuTTY-User-Key-File-2: ssh-rsa\nPublic-Lines: 2\n${PUBLIC_LINE}\n${PUBLIC_LINE}\nPrivate-Lines: 3\n${LINE}\n${LINE}\nabcd==\nPrivate-MAC: 00ff\n`;
  const left = `PuTTY-User-Key-File-2: ssh-rsa\nPublic-Lines: 2\n${PUBLIC_LINE}\n${PUBLIC_LINE}\nPrivate-Lines: 3\n${REDACTION_MARKER}\nPrivate-MAC: 00ff\n`;
  expect(redact(text).text).toBe(left);
});

test("a key in a block of YAML and in a file of settings goes, the rest stays", () => {
  const indented = key(RSA).replaceAll("\n", "\n    ");
  expect(redact(`tls:\n  cert: a\n  key: |\n    ${indented}\n  name: x\n`).text).toBe(
    `tls:\n  cert: a\n  key: |\n    ${REDACTION_MARKER}\n  name: x\n`,
  );
  expect(redact(`A_KEY="${key(RSA)}"\nB=1\n`).text).toBe(`A_KEY="${REDACTION_MARKER}"\nB=1\n`);
});
