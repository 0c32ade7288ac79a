import { expect, test } from "vitest";
import { scratch } from "../../../../test/support/scratch.ts";
import { aiSdkFunctionTools, aiSdkTools, runAiSdkToolCall } from "./ai-sdk-tools.ts";
import { anthropicTools, runAnthropicToolUses } from "./anthropic.ts";
import { openAiChatTools, openAiResponsesTools, runOpenAiToolCall } from "./openai.ts";

const ONLY_LS = { tools: ["ls"] };

test("every client is offered the available tools in its own format", async () => {
  const { runtime } = await scratch();
  const ls = runtime.tools().find((tool) => tool.name === "ls");
  const { $schema, ...schema } = ls?.args_schema ?? {};
  const { name, description } = ls ?? {};
  expect($schema).toBeDefined();
  expect(openAiChatTools(runtime, ONLY_LS)).toEqual([
    { type: "function", function: { name, description, parameters: schema } },
  ]);
  expect(openAiResponsesTools(runtime, ONLY_LS)).toEqual([
    { type: "function", name, description, parameters: schema, strict: false },
  ]);
  expect(anthropicTools(runtime, ONLY_LS)).toEqual([{ name, description, input_schema: schema }]);
  expect(aiSdkFunctionTools(runtime, ONLY_LS)).toEqual([{ type: "function", name, description, inputSchema: schema }]);
  expect(Object.keys(aiSdkTools(runtime))).toEqual(runtime.tools().map((tool) => tool.name));
});

test("a narrowed runtime offers only the tools that it allows", async () => {
  const { runtime } = await scratch({ profile: "readonly" });
  const names = openAiChatTools(runtime).map((tool) => tool.function.name);
  expect(names).toEqual(runtime.tools().map(({ name }) => name));
  expect(names).not.toContain("write");
});

// oxfmt-ignore
const CALLS = [
  { title: "a call that works",           name: "ls",    input: '{"path":"."}',      isError: false, says: /^ok\na\.txt/ },
  { title: "no arguments at all",         name: "ls",    input: "",                  isError: false, says: /a\.txt/ },
  { title: "a place outside",             name: "ls",    input: '{"path":"../.."}',  isError: true,  says: /^failed: PathTraversalBlocked/ },
  { title: "a name twice",                name: "ls",    input: '{"path":".","path":".."}', isError: true,  says: /^failed: InvalidArguments/ },
  { title: "broken JSON",                 name: "ls",    input: '{"path":',          isError: true,  says: /^failed: InvalidArguments/ },
  { title: "arguments that do not fit",   name: "ls",    input: '{"pat":"."}',       isError: true,  says: /^failed: InvalidArguments/ },
  { title: "a tool that is not there",    name: "lss",   input: "{}",                isError: true,  says: /^failed: UnknownTool/ },
] as const;

for (const { title, name, input, isError, says } of CALLS) {
  test(`every client gets an answer, and the call is recorded: ${title}`, async () => {
    const { runtime, make, events } = await scratch();
    await make({ "root/a.txt": "" });

    const chat = await runOpenAiToolCall(runtime, { id: "c1", function: { name, arguments: input } });
    const responses = await runOpenAiToolCall(runtime, { call_id: "c1", name, arguments: input });
    const sdk = await runAiSdkToolCall(runtime, { toolCallId: "c1", toolName: name, input });
    const [anthropic] = await runAnthropicToolUses(runtime, [
      { type: "text" },
      { type: "tool_use", id: "c1", name, input },
    ]);

    const text = chat.content;
    expect(text).toMatch(says);
    expect(chat).toEqual({ role: "tool", tool_call_id: "c1", content: text });
    expect(responses).toEqual({ type: "function_call_output", call_id: "c1", output: text });
    const type = isError ? "error-text" : "text";
    expect(sdk).toEqual({ type: "tool-result", toolCallId: "c1", toolName: name, output: { type, value: text } });
    const failed = isError ? { is_error: true } : {};
    expect(anthropic).toEqual({ type: "tool_result", tool_use_id: "c1", content: text, ...failed });
    const ended = (await events()).filter((event) => event.type === `tool_call.${isError ? "failed" : "completed"}`);
    expect(ended).toHaveLength(4);
    expect(new Set(ended.map(({ payload }) => payload["tool_call_id"])).size).toBe(4);
  });
}

test("the tools of the AI SDK have their schema where every SDK version expects it, and return results", async () => {
  const { runtime, make } = await scratch();
  await make({ "root/a.txt": "" });
  const { ls } = aiSdkTools(runtime, ONLY_LS);
  if (ls === undefined) throw new Error("ls is not offered");
  expect((ls.inputSchema as object as Record<symbol, unknown>)[Symbol.for("vercel.ai.schema")]).toBe(true);
  expect(ls.inputSchema.jsonSchema["type"]).toBe("object");
  expect(ls.inputSchema["~standard"].jsonSchema.input()).toBe(ls.inputSchema.jsonSchema);
  const output = await ls.execute({ path: "." }, { toolCallId: "c1" });
  expect(output).toMatchObject({ ok: true, payload: { stdout: "a.txt\n" } });
  expect(ls.toModelOutput({ output })).toEqual({ type: "text", value: "ok\na.txt" });
  expect(ls.toModelOutput(output)).toEqual({ type: "text", value: "ok\na.txt" });
});

test("aborting a call of the AI SDK stops it", async () => {
  const { runtime } = await scratch();
  const { ls } = aiSdkTools(runtime, ONLY_LS);
  const output = await ls?.execute({ path: "." }, { toolCallId: "c1", abortSignal: AbortSignal.abort() });
  expect(output).toMatchObject({ ok: false, error: { code: "Cancelled" } });
});

test("secrets reach the model through none of the adapters", async () => {
  const { runtime, make } = await scratch({ known_secrets: ["correct-horse-battery"] });
  await make({ "root/a.txt": "it is correct-horse-battery\n" });
  const { content } = await runOpenAiToolCall(runtime, {
    id: "c1",
    function: { name: "read", arguments: '{"path":"a.txt"}' },
  });
  expect(content).toContain("it is ***REDACTED***");
});
