import { expect, test } from "vitest";
import { parseCommands } from "../shell/parse-commands.ts";
import { isCarrierPattern } from "./carrier-pattern.ts";
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
  { pattern: "",             command: "ls",                       matches: false },
  { pattern: "a.c",          command: "abc",                      matches: false },
] as const;

for (const { pattern, command, matches } of MATCHES) {
  test(`the pattern "${pattern}" ${matches ? "matches" : "does not match"} ${command}`, () => {
    const [only] = parseCommands(command).commands;
    expect(only !== undefined && commandPattern(pattern).matches(only)).toBe(matches);
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
