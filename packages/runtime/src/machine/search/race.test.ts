import { fork } from "node:child_process";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { onTestFinished, expect, test } from "vitest";
import { scratch } from "../../../../../test/support/scratch.ts";

const CANARY = "canary-of-the-outside";
const FLIPPER = join(import.meta.dirname, "../../../../../test/campaigns/flip.ts");

/** Every call searches for something that exists only outside, or on both sides with different content. */
// oxfmt-ignore
const CALLS = [
  { name: "grep", args: { pattern: CANARY } },
  { name: "grep", args: { pattern: "here|canary", path: "deep", context: 1 } },
  { name: "grep", args: { pattern: CANARY, files_only: true } },
  { name: "grep", args: { pattern: CANARY, count_only: true } },
  { name: "grep", args: { pattern: "here.*", path: "flip", multiline: true } },
  { name: "grep", args: { pattern: "canary|here", path: "deep/flip/both.txt" } },
  { name: "find", args: { name_pattern: "*" } },
  { name: "find", args: { name_pattern: "*canary*" } },
  { name: "find", args: { name_pattern: "*.txt", type: "file", sort: "newest" } },
  { name: "find", args: { name_pattern: "*", path: "deep", type: "any", sort: "newest" } },
  { name: "find", args: { name_pattern: "**", path: "deep/deeper" } },
] as const;

test("folders that are flipped into links during a search reveal nothing from outside", async () => {
  const { path, call } = await scratch({ timeout_ms: 60_000 });
  const [root, outside] = [join(path, "root"), join(path, "outside")];
  for (const folder of ["", "flip", "deeper", "deeper/flip"]) {
    mkdirSync(join(outside, folder), { recursive: true });
    writeFileSync(join(outside, folder, CANARY), CANARY);
    writeFileSync(join(outside, folder, "both.txt"), `${CANARY}\n`);
  }
  for (const folder of ["flip", "deep/flip", "deep/deeper/flip", "inside-link-target"]) {
    mkdirSync(join(root, folder), { recursive: true });
    for (let i = 0; i < 20; i++) writeFileSync(join(root, folder, `here${i}.txt`), "here\n");
    writeFileSync(join(root, folder, "both.txt"), "here and not there\n");
  }
  const flipper = fork(FLIPPER, [root, outside]);
  onTestFinished(async () => {
    flipper.disconnect();
    await new Promise((resolve) => flipper.once("exit", resolve));
  });
  await new Promise((resolve) => flipper.once("message", resolve));
  const outcomes: Record<string, number> = {};
  for (let i = 0; i < 400; i++) {
    const request = CALLS[i % CALLS.length];
    if (request === undefined) break;
    const result = await call(request.name, request.args);
    const shown = JSON.stringify({ ...result.payload, next_page_cursor: undefined });
    expect({ request, shown: shown.includes(CANARY) ? shown : "" }).toEqual({ request, shown: "" });
    const outcome = result.error?.code ?? (result.payload?.stdout === "" ? "empty" : "found");
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    expect(["found", "empty", "NotFound", "PathTraversalBlocked"]).toContain(outcome);
  }
  expect(outcomes["found"]).toBeGreaterThan(0); // the search worked, and the flips hit it
  expect(outcomes["NotFound"] ?? outcomes["PathTraversalBlocked"]).toBeGreaterThan(0);
});

/** On request, turns a folder into a link and back, once: after a delay in milliseconds, for a duration. */
const FLIP_ONCE = `
const { renameSync, symlinkSync, unlinkSync } = require("node:fs");
const { parentPort, workerData: { folder, away, outside } } = require("node:worker_threads");
const spin = (ms) => { for (const from = performance.now(); performance.now() - from < ms; ); };
parentPort.on("message", ({ after, during }) => {
  spin(after);
  renameSync(folder, away);
  symlinkSync(outside, folder);
  spin(during);
  unlinkSync(folder);
  renameSync(away, folder);
  parentPort.postMessage("done");
});`;

test("a tree that was unchanged until the search began is equally safe", async () => {
  const { path, call } = await scratch({ limits: { lines: 10_000, bytes: 1_000_000 } });
  const [root, outside] = [join(path, "root/m"), join(path, "outside")];
  const folder = join(root, "flip");
  for (const each of [folder, outside]) mkdirSync(each, { recursive: true });
  for (let i = 0; i < 1000; i++) {
    writeFileSync(join(root, `a${i}`), "nothing\n".repeat(100)); // searched first, to leave time
    writeFileSync(join(folder, `f${i}.txt`), "here and not there\n");
    writeFileSync(join(outside, `f${i}.txt`), `${CANARY}\n`);
  }
  const worker = new Worker(FLIP_ONCE, { eval: true, workerData: { folder, away: join(root, "away"), outside } });
  onTestFinished(async () => void (await worker.terminate()));
  let disturbed = 0;
  for (let round = 0; round < 200 && disturbed < 4; round++) {
    while (Date.now() - statSync(root).ctimeMs < 150) await new Promise((resolve) => setImmediate(resolve));
    const flipped = new Promise((resolve) => worker.once("message", resolve));
    worker.postMessage({ after: (round * 7) % 30, during: (round * 3) % 8 });
    const { error, payload } = await call("grep", { pattern: "here|canary" });
    await flipped;
    expect(error).toBeNull();
    expect(payload?.stdout).not.toContain(CANARY);
    if (payload?.stdout.split("\n").length !== 1001) disturbed++;
  }
  expect(disturbed).toBeGreaterThan(0); // the flip hit the search, and rg's output about it was dropped
});
