import { expect, test } from "vitest";
import { readServiceModules } from "./service-modules.ts";

test("a worker reads what its service wrote, and nothing where it wrote nothing", () => {
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
])("%j is not what a service writes", (written) => {
  expect(readServiceModules(written)).toBeUndefined();
});
