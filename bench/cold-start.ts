import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { figuresOf } from "./measure.ts";
import { makeWorkspace } from "./place.ts";

const root = join(import.meta.dirname, "..");

export function benchColdStart(): void {
  execFileSync(process.execPath, [join(root, "scripts/build.ts")], { stdio: "inherit" });
  const bin = join(root, "packages/autonous/dist/bin/autonous.js");
  const environment = { ...process.env, NODE_OPTIONS: "" };
  const options = { cwd: makeWorkspace("cold"), env: environment, stdio: "ignore" } as const;
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
