import { expect, test } from "vitest";
import { numberedName, safeFileName } from "./file-name.ts";

// oxfmt-ignore
const NAMES = [
  ["report.pdf",               "report.pdf"],
  ["../../x",                  "x"],
  ["/etc/passwd",              "passwd"],
  ["..\\..\\boot.ini",         "boot.ini"],
  ["/undo",                    "undo"],
  ["..",                       "file"],
  ["",                         "file"],
  [" \n ",                     "file"],
  ["-rf",                      "rf"],
  ["a\u202Egnp.exe",           "agnp.exe"],
  ["a\u0000b\r\nc.txt",        "abc.txt"],
  ["$(rm x)`y`.sh",            "_(rm x)_y_.sh"],
  ["x;reboot;&y.txt",          "x_reboot__y.txt"],
  ["it's ~ 100 # {a,b}!.csv",  "it_s _ 100 _ _a,b__.csv"],
  ["report (1).pdf",           "report (1).pdf"],
  ["invoice\u2028.pdf ..",     "invoice.pdf"],
  ["\u06AF\u0632\u0627\u0631\u0634.docx", "\u06AF\u0632\u0627\u0631\u0634.docx"],
  ["\u0645\u06CC\u200C\u062E.csv", "\u0645\u06CC\u200C\u062E.csv"],
  ["pass\u200Cword.txt",       "password.txt"],
  ["👩‍💻 ❤️.png",               "👩‍💻 ❤️.png"],
  ["#\uFE0F\u20E3 1\uFE0F\u20E3.txt", "_\u20E3 1\uFE0F\u20E3.txt"],
  [".env",                     ".env"],
  ["CON",                      "_CON"],
  ["nul.tar.gz",               "_nul.tar.gz"],
  ["Com1 .",                   "_Com1"],
  ["console.log",              "console.log"],
  ["\uD800.txt",               "\uFFFD.txt"],
] as const;

test.each(NAMES)("%j is stored as %j", (name, expected) => {
  expect(safeFileName(name, "file")).toBe(expected);
});

test("a long name is truncated between characters and keeps its extension", () => {
  const name = safeFileName(`${"\u{1F4C4}".repeat(300)}.pdf`, "file");
  expect(Buffer.byteLength(name)).toBeLessThanOrEqual(200);
  expect(name).toMatch(/^(\u{1F4C4})+\.pdf$/u);
  expect(safeFileName(`${"👩‍💻".repeat(300)}.pdf`, "file")).toMatch(/^(👩‍💻)+\.pdf$/);
  expect(Buffer.byteLength(safeFileName(`a.${"x".repeat(400)}`, "file"))).toBe(200);
});

test("a number is inserted before the extension", () => {
  expect([1, 2, 3].map((number) => numberedName("a.tar.gz", number))).toEqual(["a.tar.gz", "a.tar-2.gz", "a.tar-3.gz"]);
  expect(numberedName(".env", 2)).toBe(".env-2");
});
