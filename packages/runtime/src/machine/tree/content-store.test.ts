import { execFileSync } from "node:child_process";
import { hash } from "node:crypto";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { scratchFolder } from "../../../../../test/support/scratch.ts";
import { ContentStore } from "./content-store.ts";

test("only contents that are still needed are retained", async () => {
  const { path } = await scratchFolder();
  const kept = new ContentStore(path);
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

test("on a full disk, contents that are already stored stay", async () => {
  const { path } = await scratchFolder();
  const program = `
    import { hash } from "node:crypto";
    import { ContentStore } from ${JSON.stringify(join(import.meta.dirname, "content-store.ts"))};
    process.on("SIGXFSZ", () => {});
    const kept = new ContentStore(${JSON.stringify(path)});
    const contents = ["small", "other", "large".repeat(1_000_000), "later"].map((text) => Buffer.from(text));
    const hashes = contents.map((content) => hash("sha256", content, "hex"));
    const did = contents.map((content, at) => kept.keep(hashes[at], content));
    const read = hashes.map((sha256) => kept.read(sha256)?.toString() ?? null);
    console.log(JSON.stringify({ did, has: hashes.map((sha256) => kept.has(sha256)), read, problem: kept.problem }));
    kept.keepOnly([hashes[0]]);
    console.log(JSON.stringify([kept.problem ?? null, kept.read(hashes[0])?.toString()]));
  `;
  const output = execFileSync(
    "bash",
    ["-c", 'ulimit -f 64; exec "$0" --input-type=module-typescript -e "$1"', process.execPath, program],
    { encoding: "utf8", env: { ...process.env, NODE_COMPILE_CACHE: undefined } },
  );

  const [first = "", second = ""] = output.split("\n");
  expect(JSON.parse(first)).toEqual({
    did: [true, true, false, false],
    has: [true, true, false, false],
    read: ["small", "other", null, null],
    problem: "file size limit exceeded",
  });
  expect(JSON.parse(second)).toEqual([null, "small"]);
});
