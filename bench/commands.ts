import { createRuntime } from "@autonous/runtime";
import type { Runtime } from "@autonous/runtime";
import { decide } from "../packages/runtime/src/policy/decide.ts";
import type { CallFacts, DecisionSettings, WorkspaceContext } from "../packages/runtime/src/policy/decide.ts";
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

/** Worst-case texts for their length. */
// oxfmt-ignore
const HOSTILE: Readonly<Record<string, (length: number) => string>> = {
  words:         (length) => `rm -rf ${fill(length, (at) => `a${at} `)}`,
  carriers:      (length) => `${"sudo env ".repeat(18)}ls ${"a ".repeat(length / 2)}`,
  evaluations:   (length) => `${"eval ".repeat(30)}ls ${"a ".repeat(length / 2)}`,
  substitutions: (length) => "a $(a $(a $(a $(a $(a $(a $(a b)))))));".repeat(length / 39),
  variables:     (length) => `${fill(length / 2, (at) => `a${at}=$(b);`)}${"(c);".repeat(length / 8)}`,
  fields:        (length) => `x='${"b ".repeat(length / 4)}';a ${"$x ".repeat(length / 6)}`,
  braces:        (length) => `a ${"{1..60}$b ".repeat(length / 10)}`,
  found:         (length) => `find ${"a ".repeat(length / 4)}${"-delete ".repeat(length / 16)}`,
  folders:       (length) => `cd ${"a/".repeat(length / 4)};rm ${"b ".repeat(length / 4)}`,
  pipeline:      (length) => `echo ${"a".repeat(length / 2)}${"|rev".repeat(length / 8)}`,
  arithmetic:    (length) => `a ${"$[1+".repeat(length / 4)}`,
  code:          (length) => `python -c '${"exec b ".repeat(length / 7)}'`,
};

function fill(length: number, make: (at: number) => string): string {
  let text = "";
  for (let at = 0; text.length < length; at++) text += make(at);
  return text;
}

export async function benchDecisions(): Promise<void> {
  const workspace = makeWorkspace("decisions");
  const runtime = await createRuntime({ roots: [workspace], sandbox: "off" });
  const decided = await decisionTimes(runtime, workspace, PIPELINE, 2000);
  const explained = await measure(2000, () => runtime.explain({ name: "bash", args: { cmd: PIPELINE } }));
  console.log(
    `decision on a pipeline of ${PIPELINE.length} characters: p50 ${(decided.p50 * 1000).toFixed(0)} µs (target 200); explained, with suggestions: ${(explained.p50 * 1000).toFixed(0)} µs`,
  );
  await benchHostile(runtime, workspace);
  await runtime.close();
  benchFileDecisions();
}

const AT_ONCE = 10_000;

/** The policy alone: no gate, no disk. The best of many rounds, so that other load on the machine does not count. */
function benchFileDecisions(): void {
  const workspace: WorkspaceContext = {
    roots: ["/work/project"],
    home: "/home/ann",
    state_dirs: ["/work/project/.agent"],
    checkpoint_handler: false,
    sandbox: "none",
  };
  const configurations: readonly DecisionSettings["configuration"][] = [
    { rules: [], quotas: [] },
    {
      rules: [
        { effect: "deny", path: "private/**" },
        { effect: "confirm", risk: "high" },
        { effect: "allow", tool: "write", path: "src/**" },
      ],
      quotas: [],
    },
  ];
  const calls = Array.from({ length: AT_ONCE }, (_, i) => fileCall(`/work/project/src/deep/file-${i}.ts`));
  for (const configuration of configurations) {
    const settings: DecisionSettings = { profile: "guarded", configuration };
    let best = Infinity;
    for (let round = 0; round < 30; round++) {
      const start = performance.now();
      for (const call of calls) decide(call, workspace, settings);
      best = Math.min(best, performance.now() - start);
    }
    console.log(
      `decisions on writes with ${configuration.rules.length} rules: ${Math.round((AT_ONCE / best) * 1000).toLocaleString("en")} a second (target 100,000)`,
    );
  }
}

function fileCall(real: string): CallFacts {
  return {
    tool: {
      name: "write",
      permission_class: "file",
      required_permissions: ["fs.write"],
      side_effects: ["files"],
      requires_checkpoint: false,
    },
    risk: "medium",
    touches: [{ path: real, real, access: "write", show_sensitive: false, exists: true }],
  };
}

/** The decision alone, on a call from the record. */
async function decisionTimes(runtime: Runtime, workspace: string, cmd: string, times: number) {
  const params = { cmd, workdir: ".", is_background: false, network: false };
  const places = [{ path: ".", real: workspace, access: "list" }];
  const recorded = { tool: "bash", version: null, params, places, sandbox: "none" };
  return await measure(times, () => runtime.decideAgain(recorded));
}

async function benchHostile(runtime: Runtime, workspace: string): Promise<void> {
  for (const [length, target] of [
    [8_000, 5],
    [32_000, 20],
    [98_000, 60], // commands have at most 100,000 characters
  ] as const) {
    let worst = { name: "", p50: 0 };
    for (const [name, make] of Object.entries(HOSTILE)) {
      const figures = await decisionTimes(runtime, workspace, make(length), 15);
      if (figures.p50 > worst.p50) worst = { name, p50: figures.p50 };
    }
    console.log(
      `decision on ${length / 1000} kB of the worst kind (${worst.name}): p50 ${milliseconds(worst.p50)} (target ${target})`,
    );
  }
}
