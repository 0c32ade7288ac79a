import { expect, test } from "vitest";
import { SharedMap } from "./shared-map.ts";

test("copies share what they hold until one of them changes, and then only that one differs", () => {
  const first = new SharedMap<number>();
  first.set("a", 1);
  const second = first.copy();
  const third = second.copy();
  expect(first.isSameAs(third)).toBe(true);
  second.set("a", 2);
  first.set("b", 3);
  expect([...first.entries()]).toEqual([
    ["a", 1],
    ["b", 3],
  ]);
  expect(second.get("a")).toBe(2);
  expect([...third.keys()]).toEqual(["a"]);
  expect(third.get("a")).toBe(1);
  expect(second.isSameAs(third)).toBe(false);
  third.clear();
  expect(third.size).toBe(0);
  expect(third.has("a")).toBe(false);
  expect(first.size).toBe(2);
});
