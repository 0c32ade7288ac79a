import { expect, test } from "vitest";
import { findDuplicates } from "./check-duplicates.ts";

const body = Array.from({ length: 6 }, (_, i) => `  const value${i} = compute(${i});`).join("\n");

test("the same six lines in two files, or twice in one, are found once", () => {
  expect(
    findDuplicates({ "a.ts": `function a() {\n${body}\n}`, "b.ts": `// b\nfunction b() {\n\n${body}\n}` }),
  ).toEqual(["b.ts:4 says again what a.ts:2 says"]);
  expect(findDuplicates({ "a.ts": `${body}\n// again\n${body}` })).toHaveLength(1);
});

test("five lines, imports and punctuation do not count as a duplicate", () => {
  const five = body.split("\n").slice(0, 5).join("\n");
  expect(findDuplicates({ "a.ts": five, "b.ts": five })).toEqual([]);
  const quiet = 'import { a } from "a";\n{\n}\n);\n'.repeat(5);
  expect(findDuplicates({ "a.ts": quiet, "b.ts": quiet })).toEqual([]);
});
