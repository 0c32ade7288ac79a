import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { checkRoots, splitRoots } from "./roots.ts";

test("roots are resolved to real paths, without duplicates", async () => {
  const { path, make } = await scratchFolder();
  await make({ "real/": "", link: "-> real" });
  const real = join(path, "real");
  expect(checkRoots([real, `${real}/`, join(path, "link"), join(path, "link/../real/.")])).toEqual({
    roots: [real],
    problems: [],
  });
});

// oxfmt-ignore
const WRONG = [
  { title: "an empty list",          text: "",                       says: /empty/ },
  { title: "an empty part",          text: "/tmp,,/etc",             says: /empty/ },
  { title: "a relative path",        text: "src",                    says: /"src" is not an absolute path/ },
  { title: "a folder that is not there", text: "/not/there",         says: /"\/not\/there" does not exist/ },
  { title: "a file",                 text: "/etc/hostname",          says: /is not a folder/ },
  { title: "a NUL",                  text: "/tmp\0/x",               says: /NUL/ },
] as const;

for (const { title, text, says } of WRONG) {
  test(`${title} is reported`, () => {
    expect(checkRoots(splitRoots(text)).problems.join("\n")).toMatch(says);
  });
}

test("every problem is reported, not only the first", () => {
  expect(checkRoots(["a", "/not/there", ""]).problems).toHaveLength(3);
  expect(checkRoots([]).problems).toHaveLength(1);
});
