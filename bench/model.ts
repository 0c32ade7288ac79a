import { spawn, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setup } from "../test/support/build.ts";
import { startFakeModel } from "../emulators/fake-model/server.ts";
import type { FakeModel, SeenRequest } from "../emulators/fake-model/server.ts";
import { figuresOf, milliseconds, peakOf } from "./measure.ts";
import { makeWorkspace } from "./place.ts";

const TURNS = 40;
/** 64 lines of 64 bytes are the 4 KB of a turn; each turn reads different ones. */
const LINES = 64;
const FLOOR = join(import.meta.dirname, "model-floor.mjs");

/** The agent with a model that answers immediately, so that only our own time is measured. */
export async function benchModel(): Promise<void> {
  const tidy = setup();
  const workspace = makeWorkspace("model");
  const file = join(workspace, "notes.txt");
  const lines = Array.from({ length: LINES * (TURNS + 1) }, (_, i) => `line ${i} `.padEnd(63, "abcdefgh"));
  writeFileSync(file, `${lines.join("\n")}\n`);
  try {
    await benchTurns(workspace, file);
    await benchStart(workspace);
  } finally {
    tidy();
  }
}

async function openModel(turns: number): Promise<FakeModel> {
  return await startFakeModel({
    key: null,
    script: ({ messages }) => {
      const asked = messages.filter((each) => each.role === "assistant").length;
      if (asked >= turns) return { text: "Read." };
      const args = { path: "notes.txt", offset: asked * LINES + 1, limit: LINES };
      return { calls: [{ name: "read", arguments: args }] };
    },
  });
}

interface Followed {
  readonly started_ms: number;
  readonly peak_mb: number;
}

/** Runs a program to its end and samples its memory. */
async function follow(words: readonly string[], cwd: string): Promise<Followed> {
  const started_ms = performance.now();
  const child = spawn(process.execPath, words, {
    cwd,
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, NODE_OPTIONS: "", AUTONOUS_PROFILE: "guarded" },
  });
  let peak_kb = 0;
  const timer = setInterval(() => (peak_kb = Math.max(peak_kb, peakOf(child.pid ?? 0))), 20);
  const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
  const [said, code] = await Promise.all([text(child.stderr), closed]);
  clearInterval(timer);
  if (code !== 0) throw new Error(`The program exited with ${code}: ${said.slice(-2000)}`);
  return { started_ms, peak_mb: Math.round(peak_kb / 1024) };
}

function runWords(url: string): string[] {
  const program = process.env["BUILT_PROGRAM"] ?? "";
  return [
    program,
    "run",
    "Read notes.txt",
    "--model",
    `compatible:m@${url}/compatible/v1`,
    "--max-turns",
    String(TURNS + 10),
  ];
}

/** From the last byte of a response to the first byte of the next request. */
function gapsOf(requests: readonly SeenRequest[]): number[] {
  return requests.slice(1).map(({ received_ms }, i) => received_ms - (requests[i]?.answered_ms ?? Number.NaN));
}

async function benchTurns(workspace: string, file: string): Promise<void> {
  const gaps: { readonly ours: number[]; readonly floor: number[] } = { ours: [], floor: [] };
  const peaks: { readonly ours: number[]; readonly floor: number[] } = { ours: [], floor: [] };
  let first: SeenRequest | undefined;
  for (let i = 0; i < 6; i++) {
    for (const side of ["ours", "floor"] as const) {
      const model = await openModel(TURNS);
      const words = side === "ours" ? runWords(model.url) : [FLOOR, model.url, file];
      const { peak_mb } = await follow(words, workspace);
      await model.close();
      checkRequests(model.requests);
      if (side === "ours") first ??= model.requests[0];
      if (i === 0) continue; // fills the compile cache
      gaps[side].push(...gapsOf(model.requests));
      peaks[side].push(peak_mb);
    }
  }
  const ours = figuresOf(gaps.ours).p50;
  const floor = figuresOf(gaps.floor).p50;
  const sorted = gaps.ours.toSorted((a, b) => a - b);
  const p95 = sorted[Math.floor(sorted.length * 0.95)] ?? 0;
  console.log(
    `${TURNS} turns of a 4 KB read, answer to next request: p50 ${milliseconds(ours)}, p95 ${milliseconds(p95)} (target p50 4 ms); fetch and read alone: ${milliseconds(floor)}; ratio ${(ours / floor).toFixed(2)}`,
  );
  console.log(
    `peak memory of such a run: ${Math.max(...peaks.ours)} MB (target 110); fetch and read alone: ${Math.max(...peaks.floor)} MB`,
  );
  const tools = Array.isArray(first?.body["tools"]) ? first.body["tools"] : [];
  console.log(
    `first request under guarded: ${first?.bytes} bytes (target 8192), ${tools.length} tools of ${JSON.stringify(tools).length} bytes in it`,
  );
}

/** A benchmark of turns that did not happen measures nothing. */
function checkRequests(requests: readonly SeenRequest[]): void {
  if (requests.length === TURNS + 1 && requests.every(({ status }) => status === 200)) return;
  throw new Error(
    `${requests.length} requests instead of ${TURNS + 1}: ${JSON.stringify(requests.at(-1)).slice(-2000)}`,
  );
}

async function benchStart(workspace: string): Promise<void> {
  const samples: { readonly bare: number[]; readonly ours: number[] } = { bare: [], ours: [] };
  for (let i = 0; i < 22; i++) {
    const start = performance.now();
    spawnSync(process.execPath, ["-e", "0"], { stdio: "ignore", env: { ...process.env, NODE_OPTIONS: "" } });
    const bare = performance.now() - start;
    const model = await openModel(0);
    const { started_ms } = await follow(runWords(model.url), workspace);
    await model.close();
    if (i < 2) continue; // the first ones fill the compile cache
    samples.bare.push(bare);
    samples.ours.push((model.requests[0]?.received_ms ?? Number.NaN) - started_ms);
  }
  const bare = figuresOf(samples.bare).p50;
  const ours = figuresOf(samples.ours).p50;
  console.log(
    `start to first request of autonous run: p50 ${milliseconds(ours)}; node -e 0: ${milliseconds(bare)}; ratio ${(ours / bare).toFixed(2)} (target 3.5)`,
  );
}
