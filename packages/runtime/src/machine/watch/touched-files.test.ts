import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { keyOf } from "../system/keys.ts";
import { TouchedFiles } from "./touched-files.ts";
import type { TreeSnapshot } from "../tree/tree-snapshot.ts";

const noLooks = () => [];

test("each command gets the files that were touched since it began", () => {
  const touched = new TouchedFiles();
  const first = touched.position;
  touched.add([["/a", "one"]], noLooks);
  const second = touched.position;
  touched.add([["/b", null]], noLooks);
  touched.add([["/c", undefined]], noLooks);

  const told = (position: number) =>
    ["/a", "/b", "/c", "/d"].map((real) => [touched.since(position).has(real), touched.since(position).get(real)]);
  expect(told(first)).toEqual([
    [true, "one"],
    [true, null],
    [true, undefined],
    [false, undefined],
  ]);
  expect(told(second)).toEqual([
    [false, undefined],
    [true, null],
    [true, undefined],
    [false, undefined],
  ]);
});

test("short-lived files are dropped from the list, and files that matter are not", async () => {
  const { path } = await scratchFolder();
  const there = join(path, "there");
  const wasThere = join(path, "was-there");
  writeFileSync(there, "x");
  const folder = { entries: new Map([["was-there", {}]]) };
  const look = { folders: new Map([[keyOf(path), folder]]), left_out: new Map() } as unknown as TreeSnapshot;
  const touched = new TouchedFiles();
  const begin = touched.position;
  touched.add(
    [
      [there, "one"],
      [wasThere, null],
    ],
    () => [look],
  );
  for (let at = 0; at < 50_000; at++) touched.add([[join(path, `gone-${at}`), null]], () => [look]);

  expect(touched.size).toBeLessThan(20_001);
  expect(touched.since(begin).get(there)).toBe("one");
  expect(touched.since(begin).get(wasThere)).toBe(null);
});

test("before the first snapshot of a command, nothing is dropped", () => {
  const touched = new TouchedFiles();
  for (let at = 0; at < 10_010; at++) touched.add([[`/none/${at}`, null]], () => [undefined]);

  expect(touched.size).toBe(10_010);
});
