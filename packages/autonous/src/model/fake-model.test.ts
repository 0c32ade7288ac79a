import type { ToolCallResult } from "@autonous/runtime";
import { expect, onTestFinished, test } from "vitest";
import { FAULT_KINDS } from "../../../../emulators/fake-model/fault-kinds.ts";
import { startFakeModel } from "../../../../emulators/fake-model/server.ts";
import type { FakeModel, FakeModelOptions } from "../../../../emulators/fake-model/server.ts";
import { createAiSdkProvider } from "./ai-sdk-provider.ts";
import { KINDS } from "./vendors/ai-sdk-models.ts";
import type { ModelKind } from "./vendors/ai-sdk-models.ts";
import { CircuitBreaker } from "./failures/circuit-breaker.ts";
import { failureReason } from "./failures/model-failure.ts";
import { ACCESS } from "./keys.ts";
import type { Message, ModelProvider, ModelReply } from "./provider.ts";

const KEY = "sk-test-Zx81kQmPw02Lr5Vt";
const TOOLS = ["read", "files.search"].map((name) => ({
  name,
  description: `The tool ${name}.`,
  args_schema: {
    type: "object",
    properties: { path: { type: "string" } },
    required: ["path"],
    additionalProperties: false,
  },
}));
const ROUNDS = [
  {
    reasoning: "Look first.",
    text: "I look.",
    calls: [
      { name: "read", arguments: { path: "a" } },
      { name: "read", arguments: { path: "b" } },
    ],
  },
  { reasoning: "Then search.", calls: [{ name: "files_search", arguments: { path: "ü" } }] },
  { calls: [{ name: "read", arguments_text: '{"path":' }] },
  { text: "Done." },
];

/** Faults that a retry fixes. Duplicated chunks look like a repeating model, and are accepted. */
const MENDABLE = FAULT_KINDS.filter(
  (kind) => !["length", "hang", "hang_in_stream", "duplicated_chunks"].includes(kind),
);

async function startServer(options: FakeModelOptions): Promise<FakeModel> {
  const server = await startFakeModel(options);
  onTestFinished(() => server.close());
  return server;
}

function connect(server: FakeModel, kind: ModelKind): ModelProvider {
  const { path } = ACCESS[KINDS[kind].access];
  return createAiSdkProvider({
    name: `${kind}:m`,
    kind,
    model: kind === "anthropic" ? "claude-sonnet-4-5" : kind === "google" ? "gemini-2.5-flash" : "gpt-5",
    access: { base_url: `${server.url}${kind === "compatible" ? "/compatible" : ""}${path}`, key: KEY },
    retry: { max_attempts: 30, base_ms: 1, longest_ms: 2, total_ms: 60_000 },
    times: { first_byte_ms: 300, idle_ms: 300, whole_ms: 60_000 },
    breaker: new CircuitBreaker("test", { threshold: 1000, cooldown_ms: 1, longest_ms: 1, clock: Date.now }),
  });
}

/** Continues until the model answers; each call gets a result. */
async function converse(provider: ModelProvider): Promise<readonly ModelReply[]> {
  const messages: Message[] = [{ role: "user", text: "Look at a and b." }];
  const replies: ModelReply[] = [];
  for (let rounds = 0; rounds < 10; rounds++) {
    const request = { system: "Be brief.", messages, rounds, tools: TOOLS };
    const reply = await provider.complete(request, { signal: new AbortController().signal });
    replies.push(reply);
    if (reply.kind !== "native" || reply.calls.length === 0) return replies;
    const calls = reply.calls.map(({ id, name, input }, index) => ({
      tool_call_id: `call_${rounds}_${index}`,
      provider_call_id: id,
      name,
      arguments: input.endsWith("}") ? (JSON.parse(input) as Record<string, unknown>) : {},
    }));
    const { text, provider_parts } = reply;
    messages.push({ role: "assistant", text, calls, provider_parts });
    for (const { tool_call_id, name } of calls)
      messages.push({ role: "tool", tool_call_id, name, text: "", result: { ok: rounds !== 1 } as ToolCallResult });
  }
  throw new Error("No answer after 10 rounds");
}

function callsOf(replies: readonly ModelReply[]): unknown {
  return replies.map((reply) => reply.kind === "native" && reply.calls.map(({ name, input }) => [name, input]));
}

const EXPECTED = [
  [
    ["read", '{"path":"a"}'],
    ["read", '{"path":"b"}'],
  ],
  [["files.search", '{"path":"ü"}']],
  [["read", '{"path":']],
  [],
];

for (const kind of Object.keys(KINDS) as ModelKind[]) {
  // Gemini sends arguments as JSON, which cannot be broken.
  const rounds = kind === "google" ? ROUNDS.filter((_, index) => index !== 2) : ROUNDS;
  const expected = kind === "google" ? EXPECTED.filter((_, index) => index !== 2) : EXPECTED;

  test(`${kind}: a strict server accepts all requests of a conversation with several rounds`, async () => {
    const server = await startServer({ script: { rounds }, key: KEY });
    const replies = await converse(connect(server, kind));
    expect(callsOf(replies)).toEqual(expected);
    expect(replies.at(-1)?.text).toBe("Done.");
    expect(server.requests.map(({ status }) => status)).toEqual(rounds.map(() => 200));
    for (const reply of replies) expect(reply.usage?.input_tokens).toBeGreaterThan(0);
  });

  test(`${kind}: failures in transit do not change the result of the conversation`, async () => {
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const server = await startServer({ script: { rounds }, chaos: { rate: 0.5, seed, ms: 1, kinds: MENDABLE } });
      const replies = await converse(connect(server, kind));
      expect(callsOf(replies)).toEqual(expected);
    }
  });

  test(`${kind}: a conversation that does not fit is reported as such, and not retried`, async () => {
    const server = await startServer({ script: { rounds }, context_tokens: 10 });
    const error: unknown = await converse(connect(server, kind)).catch((thrown: unknown) => thrown);
    expect(failureReason(error)).toBe("context_length");
    expect(server.requests).toHaveLength(1);
  });

  test(`${kind}: a wrong key is reported as such`, async () => {
    const server = await startServer({ script: { rounds }, key: "another-key" });
    const error: unknown = await converse(connect(server, kind)).catch((thrown: unknown) => thrown);
    expect(failureReason(error)).toBe("key_refused");
    expect(String(error)).not.toContain(KEY);
  });
}
