/** Compares what we do with the floor below it, in the same run: machines are noisy, ratios are not. `npm run bench [-- name]` */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime } from "@autonous/runtime";

const root = join(import.meta.dirname, "..");
const folder = mkdtempSync(join(tmpdir(), "autonous-bench-"));
process.env["XDG_STATE_HOME"] = join(folder, "state");
process.env["XDG_CACHE_HOME"] = join(folder, "cache");

interface Figures {
  readonly p50: number;
  readonly perSecond: number;
}

function figuresOf(samples: readonly number[]): Figures {
  const sorted = samples.toSorted((a, b) => a - b);
  const total = samples.reduce((sum, each) => sum + each, 0);
  return { p50: sorted[Math.floor(sorted.length / 2)] ?? 0, perSecond: (samples.length / total) * 1000 };
}

async function measure(rounds: number, work: () => unknown): Promise<Figures> {
  for (let i = 0; i < rounds / 5; i++) await work();
  const samples: number[] = [];
  for (let i = 0; i < rounds; i++) {
    const start = performance.now();
    await work();
    samples.push(performance.now() - start);
  }
  return figuresOf(samples);
}

async function benchLs(): Promise<void> {
  const workspace = join(folder, "workspace");
  mkdirSync(workspace);
  for (let i = 0; i < 50; i++) writeFileSync(join(workspace, `file-${i}.ts`), "x");
  const runtime = await createRuntime({ roots: [workspace], state_dir: join(folder, "ls-state") });
  const floor = await measure(5000, () => readdirSync(workspace));
  const governed = await measure(5000, () => runtime.call({ name: "ls", args: { path: "." } }));
  await runtime.close();
  console.log(
    `ls of 50 entries, governed: p50 ${(governed.p50 * 1000).toFixed(0)} µs, ${governed.perSecond.toFixed(0)} calls/s (target 2000)`,
  );
  console.log(
    `  bare readdir: p50 ${(floor.p50 * 1000).toFixed(0)} µs; ratio ${(governed.p50 / floor.p50).toFixed(1)}`,
  );
}

async function benchColdStart(): Promise<void> {
  execFileSync(process.execPath, [join(root, "scripts/build.ts")], { stdio: "inherit" });
  const bin = join(root, "packages/autonous/dist/bin/autonous.js");
  const workspace = join(folder, "cold");
  mkdirSync(workspace);
  const environment = { ...process.env, NODE_OPTIONS: "" };
  const options = { cwd: workspace, env: environment, stdio: "ignore" } as const;
  const samples: { bare: number[]; call: number[] } = { bare: [], call: [] };
  for (let i = 0; i < 32; i++) {
    const start = performance.now();
    spawnSync(process.execPath, ["-e", "0"], options);
    const middle = performance.now();
    const { status } = spawnSync(process.execPath, [bin, "call", "ls", '{"path":"."}'], options);
    if (status !== 0) throw new Error(`autonous call ended with ${status}`);
    if (i < 2) continue; // the first ones fill the compile cache
    samples.bare.push(middle - start);
    samples.call.push(performance.now() - middle);
  }
  const bare = figuresOf(samples.bare);
  const call = figuresOf(samples.call);
  console.log(
    `cold start of autonous call ls: p50 ${call.p50.toFixed(0)} ms; node -e 0: ${bare.p50.toFixed(0)} ms; ratio ${(call.p50 / bare.p50).toFixed(2)} (target 2.5)`,
  );
}

const BENCHES: Readonly<Record<string, () => Promise<void>>> = { ls: benchLs, "cold-start": benchColdStart };

const wanted = process.argv.slice(2);
try {
  for (const [name, bench] of Object.entries(BENCHES)) if (wanted.length === 0 || wanted.includes(name)) await bench();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
