import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { newCanary, sweepCanaries } from "./self-check.ts";

test("bait of a killed check is removed, and nothing else", async () => {
  const { path } = await scratchFolder();
  const gone = spawnSync("true").pid;
  const left = [`canary${gone}x0123456789abcdef`, `canary${gone}x0123456789abcdef.pem`];
  const others = [newCanary(), `${newCanary()}.pem`, "canary.pem", `my-${left[0]}`, `${left[0]}.txt`];
  for (const name of [...left, ...others]) writeFileSync(join(path, name), "");
  mkdirSync(join(path, `canary${gone}xfedcba9876543210`));
  sweepCanaries([path, path]);
  expect(readdirSync(path).toSorted()).toEqual([...others, `canary${gone}xfedcba9876543210`].toSorted());
});
