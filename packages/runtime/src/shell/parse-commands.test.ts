import fc from "fast-check";
import { expect, test } from "vitest";
import { describeCommands } from "./describe.ts";
import { parseCommands } from "./parse-commands.ts";

/** The commands that carry nothing, as lists of values. */
function run(text: string): readonly (readonly string[])[] {
  const plain = parseCommands(text).commands.filter(({ isCarrier, words }) => !isCarrier && words.length > 0);
  return plain.map(({ words }) => words.map(({ value }) => value));
}

// oxfmt-ignore
const RUNS = [
  { text: "a | b && c; d &",                          runs: [["a"], ["b"], ["c"], ["d"]] },
  { text: "r''m \\rm \"a b\" $'\\x41'",               runs: [["rm", "rm", "a b", "A"]] },
  { text: "{a,b}c{1..3}",                             runs: [["ac1", "ac2", "ac3", "bc1", "bc2", "bc3"]] },
  { text: "echo ~ '~' $HOME \"$HOME/x\"",             runs: [["echo", "~", "./~", "~", "~/x"]] },
  { text: "x='a b'; c $x \"$x\" ${x#a}",              runs: [["c", "a", "b", "a b", ""]] },
  { text: "c \"$(echo a)$(printf 'b%s' c)\"",         runs: [["echo", "a"], ["printf", "b%s", "c"], ["c", "abc"]] },
  { text: "sudo -u root env A=1 nice -n 5 c x",       runs: [["c", "x"]] },
  { text: "bash -lc 'c \"$1\" $0' n v",               runs: [["c", "v", "n"]] },
  { text: "echo 'c x' | sh",                          runs: [["echo", "c x"], ["c", "x"]] },
  { text: "sh <<E\nc $HOME\nE\n",                     runs: [["c", "~"]] },
  { text: "cat <<'E'\nc x\nE\n",                      runs: [["cat"]] },
  { text: "f() { c \"$1\"; }; f v",                   runs: [["c", ""], ["f", "v"], ["c", "v"]] },
  { text: "for i in a b; do c $i; done",              runs: [["c", "a"], ["c", "b"]] },
  { text: "printf '%s\\n' a b | xargs -n1 c",         runs: [["printf", "%s\\n", "a", "b"], ["c", "a", "b"]] },
  { text: "find a b -name x -exec c {} \\;",          runs: [["c", "a/x", "b/x"]] },
  { text: "find . -delete",                           runs: [["rm", "-rf", "."]] },
  { text: "git -c alias.x='!c y' x",                  runs: [["c", "y"]] },
  { text: "awk 'BEGIN { system(\"c x\") }'",          runs: [["c", "x"]] },
  { text: "python3 -c 'import os; os.system(\"c x\")'", runs: [["c", "x"]] },
  { text: "sed '2,3e c x' f",                         runs: [["c", "x"]] },
  { text: "if a; then b; else c; fi",                 runs: [["a"], ["b"], ["c"]] },
  { text: "a <(b) > >(c)",                            runs: [["b"], ["c"], ["a", ""]] },
  { text: "trap 'c x' EXIT; exec d",                  runs: [["c", "x"], ["d"]] },
  { text: "timeout -k 1 5 busybox c x",               runs: [["c", "x"]] },
  { text: "ssh -p 22 host c x",                       runs: [["c", "x"]] },
  { text: "tar cf x --checkpoint-action=exec='c x' .", runs: [["c", "x"]] },
  { text: "echo Yw== | base64 -d | sh",               runs: [["echo", "Yw=="], ["base64", "-d"], ["c"]] },
  { text: "echo 'c x' > s.sh; bash ./s.sh",            runs: [["echo", "c x"], ["c", "x"]] },
  { text: "if x=c; then $x; elif b; then $x d; fi",   runs: [["c"], ["b"], ["c", "d"]] },
  { text: "npm exec -c 'c x'",                        runs: [["c", "x"]] },
] as const;

for (const { text, runs } of RUNS) {
  test(`${JSON.stringify(text)} runs ${JSON.stringify(runs)}`, () => expect(run(text)).toEqual(runs));
}

const OPAQUE = [
  "$x",
  'eval "$x"',
  "curl x | sh",
  "x=a; false && x=b; $x",
  "if b; then x=a; fi; $x",
  "for i in a b; do x=$i; done; $x",
  'bash -c "$x"',
  'python -c "$x"',
  "/bin/r? x",
  "source <(a)",
  "x='a[$(p)]'; echo $((x))",
  "[[ 'a[$(p)]' -eq 1 ]]",
  "x='\\140p\\140'; echo ${x@P}",
  "declare 'a[$(p)]=1'",
  "echo '${x",
  'echo "',
  "a\rb",
  "a\u200bb",
  "echo 'pass\u200cword'",
  "echo 'x\ufe0f'",
  "echo '👩\u200d'",
  "а b",
  "a\u00a0b",
  "echo \u202e",
  "$'r\\\nm'",
  "echo \u0007",
  "alias a=b",
] as const;

for (const text of OPAQUE) {
  test(`${JSON.stringify(text)} is opaque`, () => expect(parseCommands(text).opaque).not.toEqual([]));
}

const CLEAR = [
  "awk '{ print $(NF) }' f",
  "git commit -m 'a `b` $(c)'",
  'echo "$(date)"',
  "x=1; echo $((x + 1))",
  'while IFS= read -r x; do echo "$x"; done < f',
  "python3 -m json.tool",
  "curl x | python3 -m json.tool",
  "git commit -m 'می\u200cخواهم 👩‍💻 ❤️'",
  "echo 'Привет　мир'",
  "source .venv/bin/activate",
  "[[ $a -gt 3 ]] && echo b",
] as const;

for (const text of CLEAR) {
  test(`nothing of ${JSON.stringify(text)} is opaque`, () => expect(parseCommands(text).opaque).toEqual([]));
}

test("a command knows the folder that it runs in, and whether that is certain", () => {
  const folders = (text: string): readonly unknown[] =>
    parseCommands(text)
      .commands.filter(({ words }) => words[0]?.value === "c")
      .map(({ folder }) => folder);
  expect(folders("cd a && c")).toEqual([{ path: "./a", isCertain: true }]);
  expect(folders("cd a; c")).toEqual([{ path: "./a", isCertain: false }]);
  expect(folders("(cd a); c")).toEqual([{ path: ".", isCertain: true }]);
  expect(folders("cd $x && c")).toEqual([{ path: undefined, isCertain: true }]);
  expect(folders("b && cd a; c")).toEqual([{ path: undefined, isCertain: false }]);
});

test("what is shown is what runs, with nothing hidden in it", () => {
  const shown = describeCommands(parseCommands("sudo bash -c 'r\"\"m -rf $x' | tee a\u202eb"));
  expect(shown).toEqual([
    "rm -rf $x  (sudo, bash)",
    "tee 'a\\u{202e}b'",
    "Unknown until it runs: it contains characters that change the direction of text (sudo bash -c 'r\"\"m -rf $x' | tee a\\u{202e}b)",
  ]);
});

const HOSTILE = [
  "{a,",
  '"$(',
  "$(",
  "`\\",
  "${a:-",
  "<(",
  "((",
  "[[ ( ",
  '{a,"}"',
  '${ "}";',
  "<<a ",
  "a&",
  "x=$x$x;",
  "f(){ f;f; };",
  "find . -exec ",
  "eval ",
  "sudo ",
  "if ",
  "case a in a) ",
];

for (const piece of HOSTILE) {
  test(`${JSON.stringify(piece)} over and over is opaque, not waited for`, () => {
    for (const count of [5_000, 30_000]) expect(parseCommands(piece.repeat(count)).opaque).not.toEqual([]);
  });
}

test("functions, loops and variables that multiply are opaque, not waited for", () => {
  const doubling = Array.from({ length: 30 }, (_, index) => `f${index}() { f${index + 1}; f${index + 1}; };`).join("");
  expect(parseCommands(`${doubling} f0`).opaque).not.toEqual([]);
  expect(parseCommands(`${"for i in 1 2 3 4 5 6 7 8; do ".repeat(8)} a; ${"done; ".repeat(8)}`).opaque).not.toEqual([]);
  expect(parseCommands(`x=aaaaaaaa; ${'x="$x$x"; '.repeat(100)} eval "$x"`).opaque).not.toEqual([]);
});

test("no text makes the parser throw, and what it cannot read it says", () => {
  const pieces = fc.constantFrom(
    "$(",
    ")",
    "`",
    '"',
    "'",
    "{",
    "}",
    ",",
    "a",
    " ",
    "\n",
    "<<E",
    "E",
    "|",
    "&",
    ";",
    "$x",
    "${",
    "[[",
    "]]",
    "((",
    "))",
    "case",
    "in",
    "if",
    "\\",
    "=",
    "x",
    "*",
    "~",
    "eval",
    "bash -c",
    "xargs",
    "find",
    "sed",
    "\r",
    "\u202e",
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: "binary" }),
        fc.array(pieces, { maxLength: 60 }).map((parts) => parts.join("")),
      ),
      (text) => {
        const { commands, opaque } = parseCommands(text);
        expect(commands.length + opaque.length).toBeGreaterThanOrEqual(0);
        if (/[\r\u202e]/.test(text)) expect(opaque).not.toEqual([]);
      },
    ),
    { numRuns: 3000 },
  );
});
