import { generateKeyPairSync, randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { REDACTION_MARKER } from "../../protocol/marker.ts";
import { createRedactor, redact } from "../redact.ts";

// Put together, so that no scanner takes this file for a leak.
const SECRET = ["PRIVATE", "KEY"].join(" ");
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs8", format: "pem" });
const KEYS: Readonly<Record<string, readonly string[]>> = {
  "PKCS #8": (rsa as string).trimEnd().split("\n"),
  OpenSSH: block(`OPENSSH ${SECRET}`, 70),
  PGP: block(`PGP ${SECRET} BLOCK`, 64),
};

function block(label: string, width: number): readonly string[] {
  const body =
    randomBytes(800)
      .toString("base64")
      .match(new RegExp(`.{1,${width}}`, "g")) ?? [];
  return [`-----BEGIN ${label}-----`, ...body, `-----END ${label}-----`];
}

/** A listing shows each line with something around it. */
type Frame = (line: string, number: number) => string;

// oxfmt-ignore
const FRAMES: Readonly<Record<string, Frame>> = {
  "git blame":                    (line, i) => `^1b2c3d4 (Jane Doe 2024-05-01 10:0${i % 10}:00 +0200 ${String(i).padStart(3)}) ${line}`,
  "git blame of two authors":     (line, i) => `${i % 2 === 0 ? "1b2c3d4e" : "00ff00aa"} (${i % 2 === 0 ? "Jane Doe" : "Bo      "} 2024-05-01 ${String(i).padStart(3)}) ${line}`,
  "git blame -s":                 (line, i) => `1b2c3d4e ${String(i).padStart(3)}) ${line}`,
  "git blame -l -e":              (line, i) => `${"1b2c3d4e".repeat(5)} settings.txt (<a@example.com> 2024-05-01 ${i}) ${line}`,
  "cat -A":                       (line) => `${line}$`,
  "cat -An of CRLF":              (line, i) => `${String(i).padStart(6)}^I${line}^M$`,
  "the left side of a diff":      (line) => `${line.slice(0, 61).padEnd(62)}<`,
  "both sides of a diff":         (line) => `${line.slice(0, 61).padEnd(62)}  ${line.slice(0, 61)}`,
  "the right side of a diff":     (line) => `${" ".repeat(62)}> ${line}`,
  "a name":                       (line) => `key = ${line}`,
  "a name without blanks":        (line) => `key=${line}`,
  "a name and a number":          (line, i) => `KEY_LINE_${i}=${line}`,
  "a cell of HTML":               (line) => `<td>${line}</td>`,
  "a numbered cell of HTML":      (line, i) => `<tr><td id="L${i}">${i}</td><td class="code">${line}</td></tr>`,
  "a cell of Markdown":           (line) => `| a | ${line} | b |`,
  "a bold item of a list":        (line) => `* **${line}**`,
  "a field of CSV":               (line, i) => `${i},${line},b`,
  "a line of JSON":               (line, i) => JSON.stringify({ number: i, line, last: false }),
  "an element of an array":       (line, i) => `  lines[${i}] = "${line}";`,
  "a string of C":                (line) => `    key += "${line}\\n";`,
  "a command":                    (line) => `echo "${line}" >> key`,
  "a log":                        (line, i) => `2024-05-01T10:00:00.${100 + i}Z INFO [main] ${line}`,
  "a container's log":            (line) => `web-1  | ${line}`,
  "awk":                          (line, i) => `line ${i} is ${line}, no more`,
  "git show --color":             (line) => `\u001b[32m+\u001b[m\u001b[32m${line}\u001b[m`,
  "git show --color, removed":    (line) => `\u001b[31m-${line}\u001b[m`,
  "git diff --word-diff":         (line) => `{+${line}+}`,
  "grep -n --color":              (line, i) => `\u001b[35m\u001b[Ka.txt\u001b[m\u001b[K\u001b[36m\u001b[K:\u001b[m\u001b[K\u001b[32m\u001b[K${i}\u001b[m\u001b[K\u001b[36m\u001b[K:\u001b[m\u001b[K${line.replaceAll("a", "\u001b[01;31m\u001b[Ka\u001b[m\u001b[K")}`,
  "paste":                        (line) => `${line}\t${line}`,
};

// oxfmt-ignore
const PARTS: Readonly<Record<string, (lines: readonly string[]) => readonly string[]>> = {
  "its last eight lines":      (lines) => lines.slice(-8),
  "five lines in the middle":  (lines) => lines.slice(3, 8),
  "three lines in the middle": (lines) => lines.slice(3, 6),
};

const COLOURS = /\u001b\[[\d;]*[A-Za-z]/g;

for (const [kind, lines] of Object.entries(KEYS)) {
  for (const [title, frame] of Object.entries(FRAMES)) {
    test(`of ${kind} without its beginning nothing is shown in the layout of ${title}`, () => {
      for (const part of Object.values(PARTS)) {
        const text = `start\n${part(lines)
          .map((line, i) => frame(line, i + 8))
          .join("\n")}\ndone.\n`;
        expectHidden(text, lines);
      }
    });
  }
}

/** No six characters of the key in a row are shown. */
function expectHidden(text: string, lines: readonly string[]): void {
  const { text: shown } = redact(text);
  const plain = shown.replaceAll(COLOURS, "").replaceAll(REDACTION_MARKER, "\n");
  for (const line of lines.slice(1, -1)) {
    for (let at = 0; at + 6 <= line.length; at++) expect(plain).not.toContain(line.slice(at, at + 6));
  }
  expect(shown.startsWith("start\n")).toBe(true);
  expect(shown.endsWith("\ndone.\n")).toBe(true);
  expect(redact(shown)).toEqual({ text: shown, redacted: false });
  for (const size of [1, 13, 64, 200]) expect(inPieces(text, size)).toBe(shown);
}

function inPieces(text: string, size: number): string {
  const stream = createRedactor().stream();
  let result = "";
  for (let at = 0; at < text.length; at += size) result += stream.push(text.slice(at, at + size));
  return result + stream.end();
}

for (const width of [32, 40, 50, 60]) {
  test(`a key that is folded to ${width} characters is redacted without its beginning, to its end`, () => {
    const lines = (KEYS["PKCS #8"] ?? []).flatMap((line) => line.match(new RegExp(`.{1,${width}}`, "g")) ?? []);
    expectHidden(`start\n${lines.slice(-14).join("\n")}\ndone.\n`, ["", ...lines.slice(2, -2), ""]);
  });
}

test("a key that is folded in two is redacted without its end", () => {
  for (const width of [32, 44, 50]) {
    const lines = (KEYS["PKCS #8"] ?? []).flatMap((line) => line.match(new RegExp(`.{1,${width}}`, "g")) ?? []);
    expectHidden(`start\n${lines.slice(9, 15).join("\n")}\ndone.\n`, ["", ...lines.slice(9, 15), ""]);
  }
});

test("lines that were cut are redacted", () => {
  const lines = (KEYS["PKCS #8"] ?? []).map((line) => line.slice(0, 52));
  expectHidden(`start\n${lines.slice(4, 9).join("\n")}\ndone.\n`, lines);
});

const random = (bytes: number): string => randomBytes(bytes).toString("base64");
const many = (line: (index: number) => string): string =>
  `${Array.from({ length: 12 }, (_, i) => line(i)).join("\n")}\n`;

// oxfmt-ignore
const OTHERS: Readonly<Record<string, () => string>> = {
  "sums in hex":               () => many((i) => `${randomBytes(32).toString("hex")}  dist/file-${i}.tar.gz`),
  "sums of SHA-384":           () => many((i) => `<script src="/${i}.js" integrity="sha384-${random(48)}"></script>`),
  "sums of SHA-384 as text":   () => `expect(sha384.parse("${random(48)}")).toBe(\n  true,\n);\nexpect(sha384.parse("${random(48)}")).toBe(true);\n// SHA512 tests\n`,
  "the first line of XML":     () => `<X509Certificate a="b">${random(48)}\n</X509Certificate>\n<SignatureValue>${random(48)}\n</SignatureValue>\n`,
  "sums of a lock file":       () => many((i) => `      "integrity": "sha512-${random(64)}", "n": ${i}`),
  "sums of SHA-256 in base64": () => many((i) => `example.com/module v1.${i}.0 h1:${random(32)}`),
  "fingerprints":              () => many((i) => `256 SHA256:${random(32).slice(0, 43)} user${i}@host (ED25519)`),
  "a log of commits":          () => many((i) => `${randomBytes(20).toString("hex")} Fix HTTP2Stream issue ${i}`),
  "public keys of SSH":        () => many((i) => `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${random(32).slice(0, 43)} user${i}@host`),
  "mail":                      () => many(() => `> ${random(57)}`),
  "an image in an address":    () => `<img src="data:image/png;base64,${random(300)}">\n<img src="data:image/png;base64,${random(300)}">\n`,
  "one value":                 () => `a = "${random(48)}";\nb = 1;\n`,
  "names in code":             () => many((i) => `import { createHttp2SecureServerWithOptionsAndDefaultTimeouts${i} } from "x";`),
  "paths":                     () => many((i) => `M\tpackages/runtimeV2/src/redactLinesOfPrivateKeysInListings/File${i}/index.ts`),
};

for (const [title, make] of Object.entries(OTHERS)) {
  test(`${title} stay`, () => {
    const text = make();
    expect(redact(text)).toEqual({ text, redacted: false });
    expect(inPieces(text, 41)).toBe(text);
  });
}

for (const [title, frame] of Object.entries(FRAMES)) {
  test(`a certificate stays in the layout of ${title}, whole and from its end`, () => {
    const lines = block("CERTIFICATE", 64);
    for (const part of [lines, lines.slice(-6)]) {
      const text = `${part.map((line, i) => frame(line, i + 1)).join("\n")}\n`;
      expect(redact(text)).toEqual({ text, redacted: false });
    }
  });
}
