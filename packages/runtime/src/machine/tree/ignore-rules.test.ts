import { expect, test } from "vitest";
import { addRules, isIgnoredFolder, NO_RULES } from "./ignore-rules.ts";

// oxfmt-ignore
const CASES = [
  { rules: "node_modules",            folder: "node_modules",     ignored: true },
  { rules: "node_modules/",           folder: "a/b/node_modules", ignored: true },
  { rules: "node_modules",            folder: "node_modules2",    ignored: false },
  { rules: "/dist",                   folder: "dist",             ignored: true },
  { rules: "/dist",                   folder: "a/dist",           ignored: false },
  { rules: "a/dist",                  folder: "a/dist",           ignored: true },
  { rules: "a/dist",                  folder: "b/a/dist",         ignored: false },
  { rules: "*.cache",                 folder: "x.cache",          ignored: true },
  { rules: "**/out",                  folder: "a/out",            ignored: true },
  { rules: "build*\n!build-tools",    folder: "build-tools",      ignored: false },
  { rules: "!build\nbuild",           folder: "build",            ignored: true },
  { rules: "# build\r\n\r\nout\r\n", folder: "out",              ignored: true },
  { rules: "out  ",                   folder: "out",              ignored: true },
  { rules: "{a,b}",                   folder: "a",                ignored: false },
  { rules: `${"x".repeat(5000)}*\nb`, folder: "b",                ignored: true },
] as const;

for (const { rules, folder, ignored } of CASES) {
  test(`the rules ${JSON.stringify(rules.slice(-30))} ${ignored ? "ignore" : "leave"} the folder "${folder}"`, () => {
    expect(isIgnoredFolder(`/root/${folder}`, addRules(NO_RULES, "/root", rules))).toBe(ignored);
    expect(isIgnoredFolder(`/${folder}`, addRules(NO_RULES, "/", rules))).toBe(ignored);
  });
}

test("rules of an inner folder override those above it", () => {
  const above = addRules(NO_RULES, "/root", "out");
  expect(isIgnoredFolder("/root/a/out", addRules(above, "/root/a", "!out"))).toBe(false);
  expect(addRules(above, "/root/a", "\n# nothing\n")).toBe(above);
});
