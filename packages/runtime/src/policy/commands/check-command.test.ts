import { readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseCommands } from "../../shell/parse-commands.ts";
import { judgeCommands } from "./check-command.ts";
import type { CommandLevel } from "./check-command.ts";
import { inSingleQuotes } from "../../protocol/shell-quote.ts";

interface Row {
  readonly args: { readonly cmd: string };
  readonly expect: "DENY" | "REQUIRE_CONFIRMATION" | "ALLOW";
  readonly about: string;
}

const GROUND = { roots: ["/home/dev/project"], home: "/home/dev" };

// oxfmt-ignore
const ANSWERS = {
  destructive: "DENY",
  unreadable:  "DENY",
  undoable:    "ALLOW",
  risky:       "REQUIRE_CONFIRMATION",
  opaque:      "REQUIRE_CONFIRMATION",
  everyday:    "ALLOW",
} as const satisfies Record<CommandLevel, Row["expect"]>;

const CORPUS = new URL("../../../../../test/corpora/commands.jsonl", import.meta.url);
const rows = readFileSync(CORPUS, "utf8")
  .trimEnd()
  .split("\n")
  .map((line) => JSON.parse(line) as Row);

function levelOf(command: string, denylist?: string): CommandLevel {
  return judgeCommands(parseCommands(command), { ...GROUND, ...(denylist !== undefined && { denylist }) }).level;
}

function answer(command: string): Row["expect"] {
  return ANSWERS[levelOf(command)];
}

/** Text that bash refuses: put into quotes, it may be a text of another language. */
const UNPARSED = "cannot be parsed by bash";
const destructive = rows.filter((row) => row.expect === "DENY" && row.about !== UNPARSED).map(({ args }) => args.cmd);
const everyday = rows.filter((row) => row.expect === "ALLOW").map(({ args }) => args.cmd);

test("every row of the corpus is judged as it says", () => {
  const wrong = rows.filter((row) => answer(row.args.cmd) !== row.expect);
  expect(wrong.map(({ args, expect: wanted }) => ({ command: args.cmd, wanted, got: levelOf(args.cmd) }))).toEqual([]);
  expect(rows.length).toBeGreaterThanOrEqual(450);
  expect(destructive.length).toBeGreaterThanOrEqual(150);
  expect(everyday.length).toBeGreaterThanOrEqual(180);
});

/** One simple command of plain words, so that its words can be spelled otherwise. */
const SIMPLE = /^[a-z][\w.-]*(?: [\w./~*=:-]+)+$/;
const BUILTIN = /^(?:exec|eval|command|builtin|coproc|time|trap|cd|pushd|kill|init|xargs)\b/;

function hex(text: string): string {
  return Array.from(text, (letter) => `\\x${letter.charCodeAt(0).toString(16)}`).join("");
}

type Mutation = (command: string) => string | undefined;
type OfWords = (name: string, rest: string, words: readonly string[]) => string;

function ofWords(change: OfWords): Mutation {
  return (command) => {
    if (!SIMPLE.test(command) || BUILTIN.test(command)) return undefined;
    const [name = "", ...words] = command.split(" ");
    return change(name, words.join(" "), words);
  };
}

/** Other spellings of the same command. */
// oxfmt-ignore
const SPELLINGS: Readonly<Record<string, Mutation>> = {
  "empty quotes":        ofWords((name, rest) => `${name.slice(0, 1)}''${name.slice(1)} ${rest}`),
  "a backslash":         ofWords((name, rest) => `\\${name} ${rest}`),
  "double quotes":       ofWords((name, rest) => `"${name}" ${rest}`),
  "half quoted":         ofWords((name, rest) => `${name.slice(0, 1)}"${name.slice(1)}" ${rest}`),
  "hexadecimal":         ofWords((name, rest) => `$'${hex(name)}' ${rest}`),
  "a locale string":     ofWords((name, rest) => `$"${name}" ${rest}`),
  "a full path":         ofWords((name, rest) => `/bin/${name} ${rest}`),
  "a deep path":         ofWords((name, rest) => `/usr/../usr/bin/${name} ${rest}`),
  "more spaces":         ofWords((name, rest) => `  ${name} \t  ${rest.replaceAll(" ", "   ")}  `),
  "a line continuation": ofWords((name, rest) => `${name} \\\n  ${rest}`),
  "a broken name":       ofWords((name, rest) => `${name.slice(0, 1)}\\\n${name.slice(1)} ${rest}`),
  "IFS":                 ofWords((name, _, words) => [name, ...words].join("${IFS}")),
  "braces":              ofWords((name, _, words) => (words.some((word) => /[*~]/.test(word)) ? `{${name},} ${words.join(" ")}` : `{${[name, ...words].join(",")}}`)),
  "a variable":          ofWords((name, rest) => `x=${name}; $x ${rest}`),
  "two variables":       ofWords((name, rest) => `a=${name.slice(0, 1)}; b=${name.slice(1)}; $a$b ${rest}`),
  "a whole variable":    ofWords((name, rest) => `x=${inSingleQuotes(`${name} ${rest}`)}; $x`),
  "an array":            ofWords((name, _, words) => `a=(${[name, ...words].join(" ")}); "\${a[@]}"`),
  "an argument":         ofWords((name, rest, words) => (/^[~*]/.test(words.at(-1) ?? "") ? `${name} ${rest}` : `x=${words.at(-1) ?? ""}; ${name} ${words.slice(0, -1).join(" ")} $x`)),
  "an echo":             ofWords((name, rest) => `$(echo ${name}) ${rest}`),
  "backticks":           ofWords((name, rest) => `\`echo ${name}\` ${rest}`),
  "a slice":             ofWords((name, rest) => `x=_${name}; \${x:1} ${rest}`),
  "xargs":               ofWords((name, rest) => (/[~*]/.test(rest) ? `xargs ${name} ${rest}` : `printf '%s\\n' ${rest} | xargs ${name}`)),
  "xargs with a place":  ofWords((name, rest, words) => `echo ${words.at(-1) ?? ""} | xargs -I @ ${name} ${words.slice(0, -1).join(" ")} @`),
  "find":                ofWords((name, rest) => `find . -maxdepth 0 -exec ${name} ${rest} \\;`),
  "long options":        (command) => (/^rm -rf (?=[^-])/.test(command) && SIMPLE.test(command) ? command.replace("-rf", "--recursive --force") : undefined),
  "options apart":       (command) => (/^rm -rf (?=[^-])/.test(command) && SIMPLE.test(command) ? command.replace("-rf", "-f -r") : undefined),
  "options at the end":  (command) => (/^rm -rf [^-\s]+$/.test(command) ? `rm ${command.slice(7)} -rf` : undefined),
  "options turned":      (command) => (/^rm -rf (?=[^-])/.test(command) && SIMPLE.test(command) ? command.replace("-rf", "-fvr --") : undefined),
};

/** Carriers before a simple command. */
const CARRIERS = [
  "env",
  "env -i A=1",
  "sudo",
  "sudo -n -u root",
  "doas",
  "nohup",
  "nice -n 5",
  "ionice -c3",
  "timeout 9",
  "setsid",
  "stdbuf -oL",
  "command",
  "exec",
  "builtin command",
  "busybox",
  "strace -f",
  "sudo env B=2 nohup",
  "unshare -r",
  "chroot /mnt",
  "flock /tmp/l",
  "npx --",
  "xvfb-run",
  "A=1",
];

/** Anything around a whole text. */
// oxfmt-ignore
const FRAMES: Readonly<Record<string, (text: string) => string>> = {
  "bash -c":           (text) => `bash -c ${inSingleQuotes(text)}`,
  "sh -ec":            (text) => `sh -ec ${inSingleQuotes(text)}`,
  "zsh -lc":           (text) => `/bin/zsh -lc ${inSingleQuotes(text)}`,
  "two shells":        (text) => `bash -c ${inSingleQuotes(`sh -c ${inSingleQuotes(text)}`)}`,
  "sudo bash":         (text) => `sudo bash -c ${inSingleQuotes(text)}`,
  "env sudo sh":       (text) => `env A=1 sudo -E sh -c ${inSingleQuotes(text)}`,
  "eval":              (text) => `eval ${inSingleQuotes(text)}`,
  "eval in a shell":   (text) => `bash -c ${inSingleQuotes(`eval ${inSingleQuotes(text)}`)}`,
  "a pipe into sh":    (text) => `printf '%s\\n' ${inSingleQuotes(text)} | sh`,
  "base64":            (text) => `echo ${btoa(text)} | base64 -d | bash`,
  "a here-string":     (text) => `bash <<< ${inSingleQuotes(text)}`,
  "a here-document":   (text) => `bash <<'END_OF_TEXT'\n${text}\nEND_OF_TEXT\n`,
  "a subshell":        (text) => `(\n${text}\n)`,
  "a group":           (text) => `{\n${text}\n}`,
  "after a list":      (text) => `ls -la; ${text}`,
  "after and":         (text) => `true && ${text}`,
  "after or":          (text) => `false || ${text}`,
  "after a line":      (text) => `echo start\n${text}`,
  "after a comment":   (text) => `ls # nothing\n${text}`,
  "a condition":       (text) => `if true; then\n${text}\nfi`,
  "a loop":            (text) => `for i in 1; do\n${text}\ndone`,
  "a while":           (text) => `while [ -f x ]; do\n${text}\ndone`,
  "a case":            (text) => `case x in *)\n${text}\n;; esac`,
  "a function":        (text) => `run() {\n${text}\n}; run`,
  "a substitution":    (text) => `echo "$(\n${text}\n)"`,
  "a process":         (text) => `cat <(\n${text}\n)`,
  "a variable, eval":  (text) => `c=${inSingleQuotes(text)}; eval "$c"`,
  "su":                (text) => `su root -c ${inSingleQuotes(text)}`,
  "script":            (text) => `script -qc ${inSingleQuotes(text)} /dev/null`,
  "watch":             (text) => `watch -n 5 ${inSingleQuotes(text)}`,
  "trap":              (text) => `trap ${inSingleQuotes(text)} EXIT`,
  "find and a shell":  (text) => `find . -maxdepth 0 -exec bash -c ${inSingleQuotes(text)} \\;`,
  "xargs and a shell": (text) => `echo x | xargs -n1 bash -c ${inSingleQuotes(text)}`,
  "git alias":         (text) => `git -c alias.x=${inSingleQuotes(`!${text}`)} x`,
  "parallel":          (text) => `parallel ::: ${inSingleQuotes(text)}`,
  "ssh":               (text) => `ssh host ${inSingleQuotes(text)}`,
  "container":         (text) => `docker exec box sh -c ${inSingleQuotes(text)}`,
  "Python":            (text) => `python3 -c ${inSingleQuotes(`import os; os.system(${JSON.stringify(text)})`)}`,
  "a background":      (text) => `{\n${text}\n} & wait`,
  "a coprocess":       (text) => `coproc {\n${text}\n}`,
};

function mutationsOf(command: string): string[] {
  const spelled = Object.values(SPELLINGS).flatMap((change) => change(command) ?? []);
  const carried =
    SIMPLE.test(command) && !BUILTIN.test(command) ? CARRIERS.map((carrier) => `${carrier} ${command}`) : [];
  const framed = Object.values(FRAMES).map((frame) => frame(command));
  const both = spelled.map((each, index) => Object.values(FRAMES)[index % Object.keys(FRAMES).length]?.(each) ?? each);
  return [...spelled, ...carried, ...framed, ...both];
}

test("no disguise of a destructive command is allowed, and nearly all are denied outright", () => {
  const all = destructive.flatMap(mutationsOf);
  const answers = all.map((command) => ({ command, answer: answer(command) }));
  const allowed = answers.filter((each) => each.answer === "ALLOW");
  const asked = answers.filter((each) => each.answer === "REQUIRE_CONFIRMATION");
  expect(allowed).toEqual([]);
  expect(all.length).toBeGreaterThan(10_000);
  expect(asked.length / all.length).toBeLessThanOrEqual(0.05);
});

/** Harmless syntax around everyday commands. */
// oxfmt-ignore
const HARMLESS: Readonly<Record<string, (text: string) => string | undefined>> = {
  "a folder first":  (text) => `cd packages/api && ${text}`,
  "a variable":      (text) => (SIMPLE.test(text) ? `FORCE_COLOR=0 ${text}` : undefined),
  "the last lines":  (text) => (/[\n&#]|<<|^(?:exit|export|source|trap|set|:)/.test(text) ? undefined : `${text} 2>&1 | tail -5`),
  "a timeout":       (text) => (SIMPLE.test(text) && !BUILTIN.test(text) ? `timeout 10 ${text}` : undefined),
  "a subshell":      (text) => `(\n${text}\n)`,
  "a message":       (text) => `${text}\necho "exit: $?"`,
  "or true":         (text) => (/[\n&]|<</.test(text) ? undefined : `${text} || true`),
  "a condition":     (text) => `if [ -d src ]; then\n${text}\nfi`,
  "a shell":         (text) => `bash -lc ${inSingleQuotes(text)}`,
  "into a file":     (text) => (SIMPLE.test(text) ? `${text} > out.txt 2>&1` : undefined),
  "strict":          (text) => `set -euo pipefail\n${text}`,
};

test("everyday commands in harmless syntax are neither denied nor asked about", () => {
  const all = everyday.flatMap((command) => Object.values(HARMLESS).flatMap((frame) => frame(command) ?? []));
  const answers = all.map((command) => ({ command, answer: answer(command) }));
  const denied = answers.filter((each) => each.answer === "DENY");
  const asked = answers.filter((each) => each.answer === "REQUIRE_CONFIRMATION");
  expect(denied.length / all.length).toBeLessThanOrEqual(0.01);
  expect(asked.length / all.length).toBeLessThanOrEqual(0.05);
});

// oxfmt-ignore
const DENIED_BY_LIST = [
  { list: "git push",              command: "git push origin main",        isDenied: true },
  { list: "git push",              command: "git -C x push",               isDenied: true },
  { list: "git push",              command: "git -C push status",          isDenied: false },
  { list: "npm publish, git push", command: "cd a && sudo git push",       isDenied: true },
  { list: "curl *\nwget",          command: "bash -c 'curl x'",            isDenied: true },
  { list: "curl",                  command: "/usr/bin/curl x",             isDenied: true },
  { list: "curl",                  command: "echo curl",                   isDenied: false },
  { list: "curl",                  command: "grep 'curl x' log",           isDenied: false },
  { list: "sudo",                  command: "sudo ls",                     isDenied: true },
  { list: "terraform * -auto-approve", command: "terraform plan -auto-approve x", isDenied: true },
  { list: "",                      command: "ls",                          isDenied: false },
  { list: " , ,",                  command: "ls",                          isDenied: false },
] as const;

for (const { list, command, isDenied } of DENIED_BY_LIST) {
  test(`the denylist ${JSON.stringify(list)} ${isDenied ? "denies" : "says nothing of"} "${command}"`, () => {
    const { findings } = judgeCommands(parseCommands(command), { ...GROUND, denylist: list });
    expect(findings.some(({ level, reason }) => level === "destructive" && reason.includes("denylist"))).toBe(isDenied);
  });
}

// oxfmt-ignore
const BY_PLACE = [
  { folder: "/home/dev/project/src", command: "rm -rf ..",           level: "destructive" },
  { folder: "/home/dev/project/src", command: "rm -rf ../dist",      level: "everyday" },
  { folder: "/home/dev/project/src", command: "echo x > ../a.txt",   level: "everyday" },
  { folder: "/home/dev/project/src", command: "echo x > ../../a",    level: "risky" },
  { folder: "/home/dev/project",     command: "rm -rf /home/dev/project", level: "destructive" },
  { folder: "/home/dev/project",     command: "rm -rf /home/dev/project/dist", level: "everyday" },
  { folder: "/home/dev/project",     command: "rm -rf /home/dev/other", level: "risky" },
  { folder: "/home/dev/project",     command: "rm -rf /home/dev",    level: "destructive" },
  { folder: "/home/dev/project",     command: "cd src && rm -rf ..", level: "destructive" },
  { folder: "/home/dev/project",     command: "cd $X && rm -rf dist", level: "risky" },
] as const;

for (const { folder, command, level } of BY_PLACE) {
  test(`in ${folder}, "${command}" is ${level}`, () => {
    expect(judgeCommands(parseCommands(command), { ...GROUND, folder }).level).toBe(level);
  });
}

test("a finding names the command inside its carriers and says why", () => {
  const { findings } = judgeCommands(parseCommands("sudo bash -c 'rm -rf /etc'"), GROUND);
  expect(findings[0]).toEqual({
    level: "destructive",
    command: "rm -rf /etc",
    reason: 'it deletes a system path ("/etc")',
  });
  expect(findings.some(({ level, reason }) => level === "risky" && reason === "it changes to another user")).toBe(true);
});

test("neither random text nor a broken command makes the judgement throw", () => {
  const pieces = rows.map(({ args }) => args.cmd);
  const broken = fc.tuple(fc.constantFrom(...pieces), fc.nat(80), fc.nat(10), fc.string({ maxLength: 8 }));
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary", maxLength: 200 }), broken), (given) => {
      const text =
        typeof given === "string"
          ? given
          : given[0].slice(0, given[1]) + given[3] + given[0].slice(given[1] + given[2]);
      const verdict = judgeCommands(parseCommands(text), GROUND);
      expect(verdict.findings.length === 0).toBe(verdict.level === "everyday");
    }),
    { numRuns: 2000 },
  );
});

test("what comes after a destructive command does not make it harmless", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...destructive),
      fc.array(fc.constantFrom(...everyday), { maxLength: 4 }),
      (bad, good) => {
        expect(levelOf([bad, ...good].join("\n"))).toBe("destructive");
      },
    ),
    { numRuns: 300 },
  );
});
