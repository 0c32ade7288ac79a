import { expect, test } from "vitest";
import type { ParsedShell } from "../../shell/parsed-shell.ts";
import { parseCommands } from "../../shell/parse-commands.ts";
import { judgeCommands } from "./check-command.ts";

const ground = { roots: ["/home/u/project"], home: "/home/u" };

/** Texts of about a length whose parts would multiply each other, if each were looked at for each. */
// oxfmt-ignore
const MULTIPLIES: Readonly<Record<string, (length: number) => string>> = {
  "places times deletions of find":       (length) => `find ${"a ".repeat(length / 4)}${"-delete ".repeat(length / 16)}`,
  "places times their uses in -exec":     (length) => `find ${"a ".repeat(length / 4)}-exec rm ${"{} ".repeat(length / 6)}`,
  "carriers times words":                 (length) => `${"sudo env ".repeat(18)}ls ${"a ".repeat(length / 2)}`,
  "a variable times its uses":            (length) => `x=${"b".repeat(length / 2)};a ${'"$x" '.repeat(length / 10)}`,
  "fields times their uses":              (length) => `x='${"b ".repeat(length / 4)}';a ${"$x ".repeat(length / 6)}`,
  "arguments times their uses":           (length) => `sh -c '${"$@ ".repeat(length / 6)}' ${"a ".repeat(length / 4)}`,
  "a replacement times its places":       (length) => `echo ${"a".repeat(length / 2)}|xargs -I a rm ${"a".repeat(length / 2)}`,
  "replaced parts times uses":            (length) => `x=${"b".repeat(length / 2)};a ${"${x//b/cc} ".repeat(length / 22)}`,
  "texts of parallel times its commands": (length) => `parallel ${"{}".repeat(length / 4)} ::: ${"b".repeat(length / 2)}`,
  "words of braces times what follows":   (length) => `a {1..60}${"$b".repeat(length / 2)}`,
  "a folder times paths in it":           (length) => `cd ${"a/".repeat(length / 4)};rm ${"b ".repeat(length / 4)}`,
  "variables times shells":               (length) => `${Array.from({ length: length / 16 }, (_, at) => `export a${at};`).join("")}${"sh -c a;".repeat(length / 16)}`,
  "outputs inside outputs":               (length) => `${"echo $(".repeat(12)}ls${")".repeat(12)};`.repeat(length / 100),
  "an output times filters":              (length) => `echo ${"a".repeat(length / 2)}${"|rev".repeat(length / 8)}`,
  "options that name programs times words": (length) => `mvn ${"-Dexec.executable=rm ".repeat(length / 22)}`,
  "lists of words times words":           (length) => `obscure ${`'["rm","a"]' `.repeat(length / 13)}`,
  "texts that a program runs":            (length) => `vim ${"-c '!ls' ".repeat(length / 9)}`,
  "a text times the shells that read it": (length) => `${"eval ".repeat(30)}ls ${"a ".repeat(length / 2)}`,
};

for (const [title, make] of Object.entries(MULTIPLIES)) {
  test(`${title} stay within what the length of the text allows`, () => {
    for (const length of [1_600, 6_400, 25_600]) {
      const text = make(length);
      const parsed = parseCommands(text);
      expect(sizeOf(parsed)).toBeLessThan(64 * Math.max(text.length, 8_192));
      const { level, findings } = judgeCommands(parsed, ground);
      expect(findings.length).toBeLessThan(text.length);
      // What is not looked at to its end is opaque as a whole, never taken for harmless.
      if (parsed.commands.length === 0) expect(level).toBe("opaque");
    }
  });
}

function sizeOf({ commands, opaque }: ParsedShell): number {
  let size = 0;
  for (const { words, assignments } of commands) {
    for (const { value } of [...words, ...assignments.map((each) => each.value)]) size += 1 + value.length;
  }
  for (const { text } of opaque) size += text.length;
  return size;
}

/** Texts on which a pattern once went back over all that it had read, for each part or for each choice among them. */
// oxfmt-ignore
const READ_ONCE: readonly (readonly [string, string])[] = [
  ["options of node",        `NODE_OPTIONS=${"--trace-".repeat(500)}! ls`],
  ["folders in PATH",        `PATH=${"/usr/node_modules/.bin:".repeat(500)}! ls`],
  ["patterns in a path",     `rm -rf ${"/*".repeat(4_000)}/x/`],
  ["line breaks",            `x=$(echo '${"\n".repeat(8_000)}a')`],
  ["quotes in awk",          `awk '${'"\\'.repeat(8_000)}'`],
  ["divisions in awk",       `awk '${"/a\\".repeat(8_000)}'`],
  ["prints in awk",          `awk '${"print ".repeat(4_000)}'`],
  ["calls of eval",          `python -c '${"exec b ".repeat(4_000)}'`],
  ["aliases",                `python -c '${"import a as b\n".repeat(600)}'`],
  ["names of modules",       `python -c '${"a.".repeat(4_000)} as b'`],
  ["substitutions of perl",  `perl -e '${"s/".repeat(4_000)}'`],
  ["loads",                  `node -e '${"require(a".repeat(1_000)}'`],
  ["places and deletions",   `python -c '${'os.walk("/a");unlink(x);'.repeat(300)}'`],
  ["quotes after eval",      `node -e '${'eval("'.repeat(1_500)}'`],
  ["bars of perl",           `perl -e 1 '${"| ".repeat(4_000)}x'`],
  ["old arithmetic",         `a ${"$[".repeat(8_000)}`],
  ["indexes",                "a[&".repeat(8_000)],
  ["quoted indexes",         'a["]"\n'.repeat(4_000)],
  ["array elements",         `x=(${"[ ".repeat(8_000)})`],
  ["parameters in a here-document", `cat <<E\n${"${x//)".repeat(4_000)}\nE\n`],
  ["sums in a here-document",       `cat <<E\n${"$((\\)".repeat(4_000)}\nE\n`],
  ["lines of one command",          `obscure <<'E'\n${"rm -rf a\n".repeat(900)}E\n`],
  ["words before a name",           `obscure <<'E'\n${" host ".repeat(2_000)}\n${"\n \n".repeat(2_000)}E\n`],
  ["findings on one command",       `rm -rf ${Array.from({ length: 4_000 }, (_, at) => `a${at}`).join(" ")}`],
];

for (const [title, text] of READ_ONCE) {
  test(`many ${title} are read once`, () => {
    const parsed = parseCommands(text);
    expect(parsed.commands.length + parsed.opaque.length).toBeGreaterThan(0);
    expect(judgeCommands(parsed, ground).findings.length).toBeLessThan(text.length);
  });
}

test("one command has at most 20 findings of a kind, and the worst is among them", () => {
  const operands = Array.from({ length: 200 }, (_, at) => `src${at}`).join(" ");
  const { level, findings } = judgeCommands(parseCommands(`rm -rf ${operands} /`), ground);
  expect(level).toBe("destructive");
  expect(findings).toHaveLength(21);
});
