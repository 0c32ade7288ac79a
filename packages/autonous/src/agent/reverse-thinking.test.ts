import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, defineTool } from "@autonous/runtime";
import type { ToolCallResult } from "@autonous/runtime";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createProvider } from "../model/choose.ts";
import { createReverseThinker } from "./reverse-thinking.ts";

const VERDICT = {
  hidden_assumptions: ["last night's backup is complete"],
  failure_scenarios: ["the wrong table is dropped"],
  verdict: "proceed",
  verdict_reason: "there is a backup",
};

interface ChallengedCall {
  readonly result: ToolCallResult;
  readonly runs: number;
  readonly audit: unknown;
}

/** Calls a tool that asks to be challenged, with a model that says this. */
async function challenge(model: "direct" | readonly object[]): Promise<ChallengedCall> {
  const folder = mkdtempSync(join(tmpdir(), "autonous-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const script = join(folder, "script.json");
  if (model !== "direct") writeFileSync(script, JSON.stringify(model));
  const provider = await createProvider(model === "direct" ? "direct" : `script:${script}`);
  const runtime = await createRuntime({
    roots: [folder],
    profile: "autonomous",
    config: { rules: [{ effect: "allow", tool: "drop_table" }] },
    onReverseThinking: createReverseThinker({
      provider,
      redactValue: (value) => runtime.redactValue(value),
      signal: new AbortController().signal,
    }),
  });
  onTestFinished(() => runtime.close());
  let runs = 0;
  runtime.register(
    defineTool({
      name: "drop_table",
      version: "1.0.0",
      description: "Drop a table",
      args: z.strictObject({ table: z.string() }),
      returns: z.strictObject({}),
      required_permissions: [],
      side_effects: ["none"],
      requires_reverse_thinking: true,
      execute: () => {
        runs += 1;
        return Promise.resolve({ data: {} });
      },
    }),
  );
  const result = await runtime.call({ name: "drop_table", args: { table: "users" } });
  const events = await Array.fromAsync(runtime.events());
  return { result, runs, audit: events.at(-1)?.payload["audit"] };
}

const verdict = (more: object) => [
  { for: "reverse_thinking", text: `Well:\n${JSON.stringify({ ...VERDICT, ...more })}` },
];

test("a call that the model approves runs, and the verdict is recorded", async () => {
  const { result, runs, audit } = await challenge(verdict({}));
  expect(result.error).toBeNull();
  expect(runs).toBe(1);
  expect(audit).toMatchObject({ reverse_thinking: VERDICT });
});

test.each(["revise", "abort"])("one that it would %s does not run, and the reason is reported", async (said) => {
  const { result, runs, audit } = await challenge(verdict({ verdict: said, verdict_reason: "the backup is missing" }));
  expect(result.error).toMatchObject({
    code: "ReverseThinkingStopped",
    message: expect.stringContaining("the backup is missing") as string,
  });
  expect(runs).toBe(0);
  expect(audit).toMatchObject({ reverse_thinking: { verdict: said } });
});

// oxfmt-ignore
const NO_VERDICTS: readonly (readonly [string, "direct" | readonly object[]])[] = [
  ["says nothing of use",        [{ for: "reverse_thinking", text: "looks fine to me" }]],
  ["forgets a field",            [{ for: "reverse_thinking", text: '{"verdict":"proceed"}' }]],
  ["is cut off",                 [{ for: "reverse_thinking", fault: "length", text: JSON.stringify(VERDICT) }]],
  ["fails",                      [{ for: "reverse_thinking", fault: "error" }]],
  ["has nothing to say",         [{ text: JSON.stringify(VERDICT) }]],
  ["is none",                    "direct"],
];

test.each(NO_VERDICTS)("a call does not run where the model %s", async (_, model) => {
  const { result, runs } = await challenge(model);
  expect(result.error).toMatchObject({ code: "ReverseThinkingStopped" });
  expect(runs).toBe(0);
});
