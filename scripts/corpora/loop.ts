import { RepetitionDetector } from "../../packages/autonous/src/agent/replies/repetition-detector.ts";
import { findCycle } from "../../packages/autonous/src/agent/no-progress.ts";
import type { Verdict } from "./verdict.ts";

interface LoopCase {
  readonly test: string;
  readonly steps: readonly {
    readonly op: string;
    readonly type?: string;
    readonly value?: unknown;
    readonly loop?: boolean;
  }[];
}

/**
 * `loop.json`: after each event, whether a model goes in circles. There a call is looked at alone; here with its result,
 * which is the same each time in these cases.
 */
export async function* runLoops(document: unknown): AsyncIterable<Verdict> {
  const { cases } = document as { readonly cases: readonly LoopCase[] };
  for (const [index, { test: name, steps }] of cases.entries()) {
    const id = String(index);
    const got = judgeSteps(steps);
    const at = steps.findIndex(({ loop = false }, step) => loop !== got[step]);
    const says = (isLoop: boolean): string => `step ${at + 1}: ${isLoop ? "a loop" : "no loop"}`;
    if (at < 0) yield { id, name };
    else yield { id, name, differs: { expected: says(steps[at]?.loop === true), got: says(got[at] === true) } };
  }
}

function judgeSteps(steps: LoopCase["steps"]): readonly boolean[] {
  let keys: string[] = [];
  let watch = new RepetitionDetector();
  return steps.map(({ op, type, value }) => {
    if (op === "reset") keys = [];
    if (op === "reset" || type === "tool_call_request") watch = new RepetitionDetector();
    if (type === "content" && typeof value === "string") return watch.push(value);
    if (type !== "tool_call_request") return false;
    keys = [...keys, JSON.stringify(value)];
    return findCycle(keys) !== undefined;
  });
}
