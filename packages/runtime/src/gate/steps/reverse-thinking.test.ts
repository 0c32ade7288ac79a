import { expect, test } from "vitest";
import { z } from "zod";
import { scratch } from "../../../../../test/support/scratch.ts";
import { defineTool } from "../../contract/tool.ts";
import type { ToolDeclaration } from "../../contract/tool.ts";
import type { RuntimeOptions } from "../../options/runtime-options.ts";

const FOUND = {
  hidden_assumptions: ["the token ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2 is good"],
  failure_scenarios: ["b"],
  verdict_reason: "because",
};

/** A call that is challenged, and who had a say in which order. */
async function challenged(
  { verdict = "proceed", ...more }: Partial<RuntimeOptions> & { readonly verdict?: string },
  tool: Partial<ToolDeclaration<z.ZodObject, z.ZodObject>> = {},
) {
  const order: string[] = [];
  const made = await scratch({
    onReverseThinking: () => (order.push("thought"), { ...FOUND, verdict } as never),
    onApproval: () => (order.push("person"), { answer: "grant" }),
    onCheckpoint: () => (order.push("checkpoint"), { answer: "grant" }),
    ...more,
  });
  made.runtime.register(
    defineTool({
      name: "risky",
      version: "1.0.0",
      description: "Challenged",
      args: z.looseObject({}),
      returns: z.looseObject({}),
      required_permissions: [],
      side_effects: ["none"],
      requires_reverse_thinking: true,
      execute: async () => (order.push("ran"), { data: {} }),
      ...tool,
    }),
  );
  return { ...made, order };
}

// oxfmt-ignore
const ORDERS = [
  { reverse_thinking: undefined, requires_checkpoint: false, want: ["person", "thought", "ran"] },
  { reverse_thinking: "after",   requires_checkpoint: false, want: ["person", "thought", "ran"] },
  { reverse_thinking: "before",  requires_checkpoint: false, want: ["thought", "person", "ran"] },
  { reverse_thinking: "instead", requires_checkpoint: false, want: ["thought", "ran"] },
  { reverse_thinking: "after",   requires_checkpoint: true,  want: ["checkpoint", "thought", "ran"] },
  { reverse_thinking: "before",  requires_checkpoint: true,  want: ["thought", "checkpoint", "ran"] },
  { reverse_thinking: "instead", requires_checkpoint: true,  want: ["thought", "checkpoint", "ran"] },
] as const;

for (const { reverse_thinking, requires_checkpoint, want } of ORDERS) {
  test(`with ${reverse_thinking ?? "nothing set"}${requires_checkpoint ? " and a checkpoint" : ""} the order is ${want.join(", ")}`, async () => {
    const config = reverse_thinking === undefined ? {} : { reverse_thinking };
    const { call, order } = await challenged({ config }, { requires_checkpoint });
    expect((await call("risky")).ok).toBe(true);
    expect(order).toEqual(want);
  });
}

for (const verdict of ["revise", "abort"]) {
  test(`the verdict ${verdict} stops the call with its reason, and is stored with it, redacted`, async () => {
    const { call, order, events } = await challenged({ verdict, config: { reverse_thinking: "before" } });
    expect((await call("risky")).error).toMatchObject({
      code: "ReverseThinkingStopped",
      details: { verdict, verdict_reason: "because" },
    });
    expect(order).toEqual(["thought"]);
    const recorded = JSON.stringify((await events()).at(-1)?.payload["audit"]);
    expect(recorded).toContain(`"verdict":"${verdict}"`);
    expect(recorded).toContain("***REDACTED***");
    expect(recorded).not.toContain("ghp_a1B2");
  });
}

// oxfmt-ignore
const UNUSABLE = [
  { title: "no verdict",          onReverseThinking: () => ({ ...FOUND }) as never },
  { title: "nothing",             onReverseThinking: () => null as never },
  { title: "more than was asked", onReverseThinking: () => ({ ...FOUND, verdict: "proceed", extra: 1 }) as never },
] as const;

for (const { title, onReverseThinking } of UNUSABLE) {
  test(`a challenge that gives ${title} stops the call`, async () => {
    const { call, order } = await challenged({ onReverseThinking, config: { reverse_thinking: "instead" } });
    expect((await call("risky")).error?.code).toBe("ReverseThinkingStopped");
    expect(order).toEqual([]);
  });
}

test("a call can be cancelled while it is thought about or at its checkpoint", async () => {
  for (const hook of ["onReverseThinking", "onCheckpoint"] as const) {
    const cancel = new AbortController();
    const { runtime, order } = await challenged(
      { config: { reverse_thinking: "before" }, [hook]: () => (cancel.abort(), new Promise<never>(() => {})) },
      { requires_checkpoint: true },
    );
    expect((await runtime.call({ name: "risky", args: {} }, { signal: cancel.signal })).error?.code).toBe("Cancelled");
    expect(order).not.toContain("ran");
  }
});
