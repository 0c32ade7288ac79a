import { hash } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { KeptContents } from "./kept-contents.ts";

test("everything is forgotten but what is still needed", async () => {
  const { path } = await scratchFolder();
  const kept = new KeptContents(path);
  onTestFinished(() => kept.clear());
  const contents = ["small", "other", "large".repeat(1_000_000)].map((text) => Buffer.from(text));
  const hashes = contents.map((content) => hash("sha256", content, "hex"));
  for (const [at, content] of contents.entries()) kept.keep(hashes[at] ?? "", content);

  kept.keepOnly([hashes[0] ?? "", hashes[2] ?? "", "of nothing"]);

  expect(hashes.map((each) => kept.has(each))).toEqual([true, false, true]);
  expect(kept.read(hashes[0] ?? "")).toEqual(contents[0]);
  expect(kept.read(hashes[2] ?? "")?.equals(contents[2] ?? Buffer.alloc(0))).toBe(true);
  expect(kept.keep(hashes[1] ?? "", contents[1] ?? Buffer.alloc(0))).toBe(true);
});
