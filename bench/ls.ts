import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compare } from "./measure.ts";
import { callOrThrow, makeWorkspace, openRuntime } from "./place.ts";

export async function benchLs(): Promise<void> {
  const workspace = makeWorkspace("ls");
  for (let i = 0; i < 50; i++) writeFileSync(join(workspace, `file-${i}.ts`), "x");
  const runtime = await openRuntime(workspace);
  const { ours, floor, ratio } = await compare(
    5000,
    () => callOrThrow(runtime, "ls", { path: "." }),
    () => readdirSync(workspace),
  );
  await runtime.close();
  console.log(
    `ls of 50 entries, governed: p50 ${(ours.p50 * 1000).toFixed(0)} µs, ${ours.perSecond.toFixed(0)} calls/s (target 2000)`,
  );
  console.log(`  bare readdir: p50 ${(floor.p50 * 1000).toFixed(0)} µs; ratio ${ratio.toFixed(1)}`);
}
