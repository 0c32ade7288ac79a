import { expect, test } from "vitest";
import { readServiceModules } from "./service-modules.ts";

test("a worker reads the modules that its service passed, and none if it passed none", () => {
  const named = [{ path: "/srv/tools.ts", digest: "00" }];
  expect(readServiceModules(JSON.stringify(named))).toEqual(named);
  expect(readServiceModules(undefined)).toEqual([]);
});

test.each([
  "garbage",
  "",
  "{}",
  "null",
  '["/srv/tools.ts"]',
  '[{"path":1,"digest":"00"}]',
  '[{"path":"/srv/tools.ts"}]',
])("%j is not a valid list of modules", (written) => {
  expect(readServiceModules(written)).toBeUndefined();
});
