import { expect, test } from "vitest";
import { batchesOf } from "./batches.ts";

// oxfmt-ignore
const CASES = [
  { calls: "",            batches: "" },
  { calls: "aaa",         batches: "aaa" },
  { calls: "XX",          batches: "X|X" },
  { calls: "aaXaXXaa",    batches: "aa|X|a|X|X|aa" },
  { calls: "aaaaaaaaaa",  batches: "aaaaaaaa|aa" },
] as const;

for (const { calls, batches } of CASES) {
  test(`"${calls}" runs as "${batches}"`, () => {
    const made = batchesOf(calls.split(""), (call) => call === call.toLowerCase());
    expect(made.map((batch) => batch.join("")).join("|")).toBe(batches);
  });
}
