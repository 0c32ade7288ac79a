import { expect, test } from "vitest";
import { Bell } from "./bell.ts";

test("all waiters return at the next ring, and later waiters wait for the one after", async () => {
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

test("a wait without a ring times out and leaves nothing behind", async () => {
  const bell = new Bell();
  const one = bell.wait(3_600_000);
  await Promise.all(Array.from({ length: 100 }, () => bell.wait(1)));
  expect(bell.waiting).toBe(1);
  bell.ring();
  await one;
});

test("a bell without waiters can be rung", () => {
  const bell = new Bell();
  bell.ring();
  expect(bell.waiting).toBe(0);
});
