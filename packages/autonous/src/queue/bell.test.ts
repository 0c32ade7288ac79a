import { expect, test } from "vitest";
import { Bell } from "./bell.ts";

test("all who wait return at the next ring, and those who come later wait for another", async () => {
  const bell = new Bell();
  const returned: string[] = [];
  const wait = async (name: string): Promise<void> => {
    await bell.wait(3_600_000);
    returned.push(name);
  };
  const first = [wait("a"), wait("b")];
  bell.ring();
  const later = wait("c");
  await Promise.all(first);
  expect(returned).toEqual(["a", "b"]);
  expect(bell.waiting).toBe(1);
  bell.ring();
  await later;
  expect(bell.waiting).toBe(0);
});

test("whoever waits without a ring returns in time, and nothing of it is kept until the next one", async () => {
  const bell = new Bell();
  const one = bell.wait(3_600_000);
  await Promise.all(Array.from({ length: 100 }, () => bell.wait(1)));
  expect(bell.waiting).toBe(1);
  bell.ring();
  await one;
});

test("a bell that nobody waits for can be rung", () => {
  const bell = new Bell();
  bell.ring();
  expect(bell.waiting).toBe(0);
});
