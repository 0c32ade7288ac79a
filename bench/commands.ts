import { createRuntime } from "@autonous/runtime";
import { compare, measure, milliseconds, run } from "./measure.ts";
import { callOrThrow, makeWorkspace } from "./place.ts";

export async function benchCommands(): Promise<void> {
  const workspace = makeWorkspace("commands");
  const bare = (): Promise<void> => run("/bin/bash", ["-c", "true"], workspace);
  const options = { roots: [workspace], profile: "autonomous" } as const;
  for (const [sandbox, target] of [
    ["required", 4.5],
    ["off", 1.3],
  ] as const) {
    const runtime = await createRuntime({ ...options, state_dir: `${workspace}-${sandbox}`, sandbox });
    const { ours, floor, ratio } = await compare(60, () => callOrThrow(runtime, "bash", { cmd: "true" }), bare);
    await runtime.close();
    const where = sandbox === "off" ? "without a sandbox" : "in the sandbox";
    console.log(
      `bash true ${where}: p50 ${milliseconds(ours.p50)}; bare spawn ${milliseconds(floor.p50)}; ratio ${ratio.toFixed(2)} (target ${target})`,
    );
  }
}

const PIPELINE =
  "git log --oneline --since='2 weeks ago' -- src | head -n 50 | awk '{print $1}' | xargs -n 1 git show --stat | grep -v test | sort | uniq -c | sort -rn | head -20 && npm run build 2>&1 | tail -5";

export async function benchDecisions(): Promise<void> {
  const workspace = makeWorkspace("decisions");
  const runtime = await createRuntime({ roots: [workspace], sandbox: "off" });
  const { p50 } = await measure(2000, () => runtime.explain({ name: "bash", args: { cmd: PIPELINE } }));
  await runtime.close();
  console.log(
    `decision on a pipeline of ${PIPELINE.length} characters: p50 ${(p50 * 1000).toFixed(0)} µs (target 200)`,
  );
}
