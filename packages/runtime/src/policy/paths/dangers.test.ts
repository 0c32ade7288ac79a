import { expect, test } from "vitest";
import { looksLikeRepository } from "./dangers.ts";

// oxfmt-ignore
const FOLDERS: readonly (readonly [names: readonly string[], isRepository: boolean])[] = [
  [["HEAD", "objects", "refs"],           true],
  [["HEAD", "commondir"],                 true],
  [["HEAD", "objects"],                   false],
  [["HEAD", "refs"],                      false],
  [["HEAD"],                              false],
  [["objects", "refs", "commondir"],      false],
  [["src", "README.md"],                  false],
];

test.each(FOLDERS)("a folder with %j is a repository to git: %s", (names, isRepository) => {
  expect(looksLikeRepository(new Set(names))).toBe(isRepository);
});
