import { expect, test } from "vitest";
import { MAX_ENDS, waitBefore } from "./supervisor.ts";

test("the first restart does not wait, then the waits double, up to five seconds", () => {
  const waits = Array.from({ length: MAX_ENDS - 1 }, (_, i) => waitBefore(i + 1));
  expect(waits).toEqual([0, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
});
