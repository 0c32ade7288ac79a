import type { ToolCallResult } from "@autonous/runtime";
import { expect, test } from "vitest";
import { FORMATS, KEY } from "../../../../test/support/model-events.ts";
import { startModelServer, stream } from "../../../../test/support/model-server.ts";
import { createProvider } from "./choose.ts";
import { parseReply } from "./calls/json-reply.ts";
import type { Message, ModelDelta, ModelReply, ModelRequest, ModelTool } from "./provider.ts";

const signal = new AbortController().signal;

const READ: ModelTool = {
  name: "read",
  description: "Read a file.",
  args_schema: {
    type: "object",
    properties: { path: { type: "string" } },
    required: ["path"],
    additionalProperties: false,
  },
};

function request(messages: readonly Message[]): ModelRequest {
  return { system: "Be brief.", messages, rounds: messages.length, tools: [READ] };
}

function result(tool_call_id: string, text: string, ok = true): Message {
  const outcome = { ok } as ToolCallResult;
  return { role: "tool", tool_call_id, name: "read", text, result: outcome };
}

/** The conversation after a reply with calls, with ids of our own, as the loop makes them. */
function after(reply: ModelReply): readonly Message[] {
  if (reply.kind !== "native") throw new Error("The reply is not native");
  const calls = reply.calls.map(({ id, name, input }, index) => ({
    tool_call_id: `call_own${index}`,
    provider_call_id: id,
    name,
    arguments: JSON.parse(input) as Record<string, unknown>,
  }));
  // As it comes back from the record.
  const provider_parts = JSON.parse(JSON.stringify(reply.provider_parts ?? null)) as unknown;
  return [
    { role: "user", text: "Compare a.ts and b.ts." },
    { role: "assistant", text: reply.text, calls, provider_parts },
    result("call_own0", "ok\nfirst"),
    result("call_own1", "failed: NotFound", false),
  ];
}

const parameters = READ.args_schema;
const mark = { cache_control: { type: "ephemeral" } };
const question = "Compare a.ts and b.ts.";
const chatCall = (id: string, path: string): unknown => ({
  id,
  type: "function",
  function: { name: "read", arguments: JSON.stringify({ path }) },
});
const chatMessages = (beside: object): unknown => [
  { role: "system", content: "Be brief." },
  { role: "user", content: question },
  {
    role: "assistant",
    content: "Let me look.",
    ...beside,
    tool_calls: [chatCall("call_a", "a.ts"), chatCall("call_b", "b.ts")],
  },
  { role: "tool", tool_call_id: "call_a", content: "ok\nfirst" },
  { role: "tool", tool_call_id: "call_b", content: "failed: NotFound" },
];
const chatTools = [{ type: "function", function: { name: "read", description: "Read a file.", parameters } }];

/** What each server is sent with the second request, in its own words. */
const SENT_BACK: Readonly<Record<string, object>> = {
  anthropic: {
    system: [{ type: "text", text: "Be brief.", ...mark }],
    tools: [{ name: "read", description: "Read a file.", input_schema: parameters, ...mark }],
    messages: [
      { role: "user", content: [{ type: "text", text: question, ...mark }] },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm.", signature: "signed" },
          { type: "text", text: "Let me look." },
          { type: "tool_use", id: "toolu_a", name: "read", input: { path: "a.ts" } },
          { type: "tool_use", id: "toolu_b", name: "read", input: { path: "b.ts" } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "toolu_a", content: "ok\nfirst" },
          { type: "tool_result", tool_use_id: "toolu_b", content: "failed: NotFound", is_error: true, ...mark },
        ],
      },
    ],
  },
  openai: {
    store: false,
    include: ["reasoning.encrypted_content"],
    input: [
      { role: "developer", content: "Be brief." },
      { role: "user", content: [{ type: "input_text", text: question }] },
      {
        type: "reasoning",
        id: "rs_1",
        encrypted_content: "signed",
        summary: [{ type: "summary_text", text: "Hm." }],
      },
      { role: "assistant", content: "Let me look." },
      { type: "function_call", call_id: "call_a", name: "read", arguments: '{"path":"a.ts"}' },
      { type: "function_call", call_id: "call_b", name: "read", arguments: '{"path":"b.ts"}' },
      { type: "function_call_output", call_id: "call_a", output: "ok\nfirst" },
      { type: "function_call_output", call_id: "call_b", output: "failed: NotFound" },
    ],
  },
  "openai-chat": { messages: chatMessages({}), tools: chatTools },
  compatible: { messages: chatMessages({ reasoning_content: "Hm." }), tools: chatTools },
  google: {
    systemInstruction: { parts: [{ text: "Be brief." }] },
    contents: [
      { role: "user", parts: [{ text: question }] },
      {
        role: "model",
        parts: [
          { text: "Hm.", thought: true },
          { text: "Let me look." },
          { functionCall: { id: "id 1", name: "read", args: { path: "a.ts" } }, thoughtSignature: "signed" },
          { functionCall: { id: "id 2", name: "read", args: { path: "b.ts" } } },
        ],
      },
      {
        role: "user",
        parts: [
          { functionResponse: { id: "id 1", name: "read", response: { name: "read", content: "ok\nfirst" } } },
          { functionResponse: { id: "id 2", name: "read", response: { name: "read", error: "failed: NotFound" } } },
        ],
      },
    ],
    tools: [
      { functionDeclarations: [{ name: "read", description: "Read a file.", parametersJsonSchema: parameters }] },
    ],
  },
};

/** The library makes up ids where Gemini gives none: they count here in the order in which they come. */
function withoutMadeUpIds(body: unknown): Readonly<Record<string, unknown>> {
  const ids = new Map<string, string>();
  const text = JSON.stringify(body).replaceAll(/"id":"([A-Za-z0-9]{16})"/g, (_, id: string) => {
    if (!ids.has(id)) ids.set(id, `id ${ids.size + 1}`);
    return `"id":"${ids.get(id)}"`;
  });
  return JSON.parse(text) as Record<string, unknown>;
}

for (const [kind, format] of Object.entries(FORMATS)) {
  test(`${kind}: a reply yields its text, calls, usage and live output`, async () => {
    const server = await startModelServer([stream(format.calls)]);
    const provider = await createProvider(format.setting(server.url), format.environment(server.url));
    const deltas: ModelDelta[] = [];

    const reply = await provider.complete(request([{ role: "user", text: "Compare." }]), {
      signal,
      onDelta: (delta) => deltas.push(delta),
    });

    expect(server.asked.map(({ path }) => path)).toEqual([format.path]);
    expect(reply).toMatchObject({ kind: "native", text: "Let me look.", finish: "stop" });
    expect(reply.kind === "native" && reply.calls.map(({ name, input }) => [name, JSON.parse(input)])).toEqual([
      ["read", { path: "a.ts" }],
      ["read", { path: "b.ts" }],
    ]);
    expect(reply.usage).toEqual({
      input_tokens: 45,
      output_tokens: 9,
      cached_input_tokens: 30,
      ...(kind === "anthropic" ? { cache_write_tokens: 5 } : {}),
    });
    const shown = (kind: string): string => deltas.flatMap((each) => (each.kind === kind ? [each.text] : [])).join("");
    expect(shown("text")).toBe("Let me look.");
    expect(shown("reasoning")).toBe(kind === "openai-chat" ? "" : "Hm.");
  });

  test(`${kind}: results are sent with their calls, and provider data unchanged`, async () => {
    const server = await startModelServer([stream(format.calls), stream(format.answer("Equal."))]);
    const provider = await createProvider(format.setting(server.url), format.environment(server.url));
    const first = await provider.complete(request([{ role: "user", text: "Compare a.ts and b.ts." }]), { signal });

    const second = await provider.complete(request(after(first)), { signal });

    expect(second).toMatchObject({ kind: "native", text: "Equal.", calls: [], finish: "stop" });
    const body = withoutMadeUpIds(server.asked[1]?.body);
    expect(Object.fromEntries(Object.keys(SENT_BACK[kind] ?? {}).map((name) => [name, body[name]]))).toEqual(
      SENT_BACK[kind],
    );
  });

  test(`${kind}: a reply that was truncated at the length limit is marked as such`, async () => {
    const server = await startModelServer([stream(format.cutByLength)]);
    const provider = await createProvider(format.setting(server.url), format.environment(server.url));
    const reply = await provider.complete(request([{ role: "user", text: "Compare." }]), { signal });
    expect(reply.finish).toBe("length");
  });

  test(`${kind}: the key goes in a header and nowhere else`, async () => {
    const server = await startModelServer([stream(format.answer("Hello."))]);
    const provider = await createProvider(format.setting(server.url), format.environment(server.url));
    const reply = await provider.complete(request([{ role: "user", text: "Hi." }]), { signal });
    const [{ headers, path, body } = { headers: {}, path: "", body: {} }] = server.asked;
    expect(Object.values(headers).filter((each) => String(each).includes(KEY))).toHaveLength(1);
    expect(JSON.stringify([path, body, reply, provider.name])).not.toContain(KEY);
  });
}

test("a server with function calling and one without give the same calls for the same conversation", async () => {
  const { compatible } = FORMATS;
  if (compatible === undefined) throw new Error("The format is not there");
  const tool_calls = ["a.ts", "b.ts"].map((path) => ({ name: "read", arguments: { path } }));
  const plainReply = `Let me look.\n${JSON.stringify({ tool_calls, final_answer: "" })}`;
  const native = await startModelServer([stream(compatible.calls), stream(compatible.answer("Equal."))]);
  const plain = await startModelServer([
    stream(compatible.answer(plainReply)),
    stream(compatible.answer('{"final_answer":"Equal."}')),
  ]);
  const nativeProvider = await createProvider(`compatible:m@${native.url}`, {});
  const plainProvider = await createProvider(`compatible-plain:m@${plain.url}`, {});
  const asked = request([{ role: "user", text: question }]);

  const byCalls = await nativeProvider.complete(asked, { signal });
  const byWords = await plainProvider.complete(asked, { signal });

  if (byCalls.kind !== "native" || byWords.kind !== "plain") throw new Error("The replies are of the wrong kind");
  const nativeCalls = byCalls.calls.map(({ name, input }) => ({ name, arguments: JSON.parse(input) as unknown }));
  expect(parseReply(byWords.text)).toEqual({ kind: "tool_calls", calls: nativeCalls, text: byCalls.text });
  expect(byWords.usage).toEqual(byCalls.usage);
  expect(plain.asked[0]?.body["tools"]).toBeUndefined();

  const results = after(byCalls).slice(2);
  const ends = await plainProvider.complete(
    request([...asked.messages, { role: "assistant", text: byWords.text }, ...results]),
    { signal },
  );
  expect(parseReply(ends.text)).toEqual({ kind: "final", text: "Equal." });
  expect(plain.asked[1]?.body["messages"]).toEqual([
    { role: "system", content: "Be brief." },
    { role: "user", content: question },
    { role: "assistant", content: plainReply },
    { role: "user", content: "Result of read:\nok\nfirst\n\nResult of read:\nfailed: NotFound" },
  ]);
});
