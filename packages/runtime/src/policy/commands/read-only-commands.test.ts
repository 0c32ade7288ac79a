import { expect, test } from "vitest";
import { parseCommands } from "../../shell/parse-commands.ts";
import { isReadOnly } from "./read-only-commands.ts";

// oxfmt-ignore
const CASES: readonly (readonly [string, boolean])[] = [
  ["ls -la",                                 true],
  ["cat a | grep b | wc -l",                 true],
  ["git status && git log --oneline | head", true],
  ["cd src && ls 2>/dev/null",               true],
  ["echo a >&2",                             true],
  ["echo a > b",                             false],
  ["git diff --output=a",                    false],
  ["git",                                    false],
  ["git commit -m a",                        false],
  ["npm test",                               false],
  ["$X",                                     false],
  ["A=1 ls",                                 false],
  ["A=1",                                    false],
  ["eval ls",                                false],
  ["bash -c 'touch a'",                      false],
  ["",                                       false],
];

for (const [text, wanted] of CASES) {
  test(`"${text}" ${wanted ? "changes no file" : "may change a file"}`, () => {
    expect(isReadOnly(parseCommands(text))).toBe(wanted);
  });
}
