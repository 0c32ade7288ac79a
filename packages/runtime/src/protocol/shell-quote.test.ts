import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { inSingleQuotes, quoteForShell } from "./shell-quote.ts";

const TEXTS = [
  "",
  "plain/word-1.txt",
  "two words",
  "it's",
  "$HOME `id` $(id)",
  "~root",
  "*",
  "a\nb\tc",
  `"\\'"`,
  "-n",
  "#x",
  "é",
];

for (const [name, quote] of Object.entries({ inSingleQuotes, quoteForShell })) {
  test(`a shell reads what ${name} returns as the original text, as one word`, () => {
    const script = `printf '%s\\0' ${TEXTS.map(quote).join(" ")}`;

    const words = execFileSync("bash", ["-c", script], { encoding: "utf8" }).split("\0").slice(0, -1);

    expect(words).toEqual(TEXTS);
  });
}

test("a word without special characters stays readable", () => {
  expect(quoteForShell("--in=a/b.txt")).toBe("--in=a/b.txt");
  expect(inSingleQuotes("a")).toBe("'a'");
});
