import { expect, onTestFinished, test } from "vitest";
import { makeWorld, recording, startRuntime } from "../../../../../test/support/agent-world.ts";
import { nativePayloads } from "../../../../../test/support/native-world.ts";
import { TEXT_CALLS } from "../../../../../emulators/fake-model/quirks/text-calls.ts";
import { startFakeModel } from "../../../../../emulators/fake-model/server.ts";
import type { FakeModelOptions } from "../../../../../emulators/fake-model/server.ts";
import { createAiSdkProvider } from "../../model/ai-sdk-provider.ts";
import { CircuitBreaker } from "../../model/failures/circuit-breaker.ts";
import { runAgent } from "../loop.ts";

type Rounds = Extract<FakeModelOptions["script"], { readonly rounds: unknown }>["rounds"];

/** A run against a server that says these rounds. */
async function serve(vendor: string, rounds: Rounds) {
  const server = await startFakeModel({ script: { rounds } });
  onTestFinished(() => server.close());
  const world = await makeWorld();
  const runtime = await startRuntime(world);
  const provider = recording(
    createAiSdkProvider({
      name: "compatible:m",
      kind: "compatible",
      model: "m",
      access: { base_url: `${server.url}/${vendor}/v1`, key: "sk-test-Zx81kQmPw02Lr5Vt" },
      retry: { max_attempts: 2, base_ms: 1, longest_ms: 2, total_ms: 60_000 },
      breaker: new CircuitBreaker("test", { threshold: 1000, cooldown_ms: 1, longest_ms: 1, clock: Date.now }),
    }),
  );
  const outcome = await runAgent({ runtime, provider, task: { text: "Do it" }, limits: { max_turns: 10 } });
  return { world, outcome, requests: provider.requests };
}

const CALLS = [{ name: "look", arguments: { mark: "one" } }];

for (const quirk of Object.keys(TEXT_CALLS) as (keyof typeof TEXT_CALLS)[]) {
  test(`a call that vLLM returns as text (${quirk}) runs, and its result is sent as that of a call`, async () => {
    const { world, outcome, requests } = await serve("vllm", [{ calls: CALLS, quirk }, { text: "Done." }]);
    expect(outcome).toMatchObject({ outcome: "completed", answer: "Done.", turns: 2, calls: 1 });
    expect([...world.effects]).toEqual([["look one", 1]]);
    expect(requests[1]?.messages.slice(1)).toMatchObject([
      { role: "assistant", calls: [{ name: "look" }] },
      { role: "tool" },
    ]);
    expect(nativePayloads(world, "model.completed")[0]).toMatchObject({ written_as: expect.any(String) as string });
  });
}

for (const quirk of ["calls_promised", "unclosed_think", "empty_reply"] as const) {
  test(`an unusable reply (${quirk}) is reported to the model once`, async () => {
    const rounds: Rounds = [{ calls: CALLS, quirk }, { calls: CALLS }, { text: "Done." }];
    const { world, outcome } = await serve("vllm", rounds);
    expect(outcome).toMatchObject({ outcome: "completed", answer: "Done.", turns: 3, calls: 1 });
    expect(nativePayloads(world, "model.completed")[0]).toMatchObject({ kind: "invalid" });
  });
}

for (const vendor of ["vllm", "ollama", "mistral", "deepseek"]) {
  test(`an answer that ${vendor} truncates is continued`, async () => {
    const rounds: Rounds = [{ text: "One, two, ", finish: "length" }, { text: "three." }];
    const { outcome } = await serve(vendor, rounds);
    expect(outcome).toMatchObject({ outcome: "completed", answer: "One, two, three.", turns: 2 });
  });
}

test("a refusal is not retried, is shown as one, is charged, and fails the run", async () => {
  const { outcome, requests } = await serve("vllm", [{ text: "I cannot help with that.", quirk: "refusal" }]);
  expect(requests).toHaveLength(1);
  expect(outcome).toMatchObject({ outcome: "failed", answer: "", error: { code: "ModelFailed", reason: "refused" } });
  expect(outcome.error?.message).toContain("it refused: ");
  expect(outcome.usage.input_tokens).toBeGreaterThan(0);
});
