import { expect, test } from "vitest";
import { pointedTo } from "./git-pointers.ts";

// oxfmt-ignore
const CASES: readonly (readonly [text: string, folder: string, leads: string | undefined])[] = [
  ["gitdir: ../.git/worktrees/x\n", "/work/x", "/work/.git/worktrees/x"],
  ["gitdir: /work/.git/modules/x",  "/work/x", "/work/.git/modules/x"],
  ["../..\n",                       "/work/.git/worktrees/x", "/work/.git"],
  ["gitdir: a\r\n",                 "/work",   "/work/a"],
  ["gitdir: ",                      "/work",   undefined],
  ["",                              "/work",   undefined],
  ["gitdir: a\nb",                  "/work",   undefined],
  ["gitdir: a\0b",                  "/work",   undefined],
  ["gitdir: /",                     "/work",   undefined],
];

test.each(CASES)("%j in %s leads to %s", (text, folder, leads) => {
  expect(pointedTo(text, folder)).toBe(leads);
});
