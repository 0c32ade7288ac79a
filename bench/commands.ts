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

/** Texts of a length that ask for as much work as they can. */
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
  const explain = async (cmd: string): Promise<unknown> => await runtime.explain({ name: "bash", args: { cmd } });
  const { p50 } = await measure(2000, () => explain(PIPELINE));
  console.log(
    `decision on a pipeline of ${PIPELINE.length} characters: p50 ${(p50 * 1000).toFixed(0)} µs (target 200)`,
  );
  for (const [length, target] of [
    [8_000, 5],
    [32_000, 20],
    [100_000, 60],
  ] as const) {
    let worst = { name: "", p50: 0 };
    for (const [name, make] of Object.entries(HOSTILE)) {
      const figures = await measure(15, () => explain(make(length)));
      if (figures.p50 > worst.p50) worst = { name, p50: figures.p50 };
    }
    console.log(
      `decision on ${length / 1000} kB of the worst kind (${worst.name}): p50 ${milliseconds(worst.p50)} (target ${target})`,
    );
  }
  await runtime.close();
}
