/** The adapters with the clients that people use them with, each against a model server on loopback: whole and streamed. */
import Anthropic from "@anthropic-ai/sdk";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import type { Runtime } from "@autonous/runtime";
import { generateText, stepCountIs, streamText } from "ai";
import type { LanguageModel } from "ai";
import OpenAI from "openai";
import { expect, onTestFinished, test } from "vitest";
import { aiSdkTools } from "../packages/autonous/src/adapters/ai-sdk-tools.ts";
import { anthropicTools, runAnthropicToolUses } from "../packages/autonous/src/adapters/anthropic.ts";
import { openAiChatTools, openAiResponsesTools, runOpenAiToolCall } from "../packages/autonous/src/adapters/openai.ts";
import { startFakeModel } from "../emulators/fake-model/server.ts";
import type { FakeModel } from "../emulators/fake-model/server.ts";
import { scratch } from "./support/scratch.ts";

const ASKED = "Which files are there?";
const ANSWER = "There is a.txt.";
const KEY = "right";
/** A call that works, and one that is refused: both have to be answered. */
const SCRIPT = {
  rounds: [
    {
      text: "Let me see.",
      calls: [
        { name: "ls", arguments: { path: "." } },
        { name: "read", arguments: { path: "../outside.txt" } },
      ],
    },
    { text: ANSWER, usage: { input_tokens: 50, output_tokens: 5 } },
  ],
};
const TOOLS = { tools: ["ls", "read"] };

interface Place {
  readonly runtime: Runtime;
  readonly model: FakeModel;
}

/** What a client's own loop says in the end. */
type Loop = (place: Place) => Promise<string>;

async function chat({ runtime, model }: Place, stream: boolean): Promise<string> {
  const client = new OpenAI({ apiKey: KEY, baseURL: `${model.url}/v1`, maxRetries: 0 });
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: ASKED }];
  for (;;) {
    const body = { model: "gpt-test", messages, tools: openAiChatTools(runtime, TOOLS) };
    const { choices } = stream
      ? await client.chat.completions.stream(body).finalChatCompletion()
      : await client.chat.completions.create(body);
    const message = choices[0]?.message;
    if (message?.tool_calls === undefined || message.tool_calls.length === 0) return message?.content ?? "";
    const calls = message.tool_calls.flatMap((call) => (call.type === "function" ? [call] : []));
    const tool_calls = calls.map(({ id, type, function: { name, arguments: args } }) => ({
      id,
      type,
      function: { name, arguments: args },
    }));
    messages.push({ role: "assistant", content: message.content, tool_calls }); // without what the helper has parsed
    for (const call of calls) messages.push(await runOpenAiToolCall(runtime, call));
  }
}

async function responses({ runtime, model }: Place, stream: boolean): Promise<string> {
  const client = new OpenAI({ apiKey: KEY, baseURL: `${model.url}/v1`, maxRetries: 0 });
  const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: ASKED }];
  for (;;) {
    const body = { model: "gpt-test", input, tools: openAiResponsesTools(runtime, TOOLS) };
    const { output, output_text } = stream
      ? await client.responses.stream(body).finalResponse()
      : await client.responses.create(body);
    const calls = output.flatMap((item) => (item.type === "function_call" ? [item] : []));
    if (calls.length === 0) return output_text;
    for (const { call_id, name, arguments: args } of calls) {
      input.push({ type: "function_call", call_id, name, arguments: args });
      input.push(await runOpenAiToolCall(runtime, { call_id, name, arguments: args }));
    }
  }
}

async function anthropic(
  { runtime, model }: Place,
  { stream, ...key }: { stream: boolean; apiKey: string | null; authToken: string | null },
): Promise<string> {
  const client = new Anthropic({ ...key, baseURL: model.url, maxRetries: 0 });
  const messages: Anthropic.MessageParam[] = [{ role: "user", content: ASKED }];
  for (;;) {
    const body = { model: "claude-test", max_tokens: 1000, messages, tools: anthropicTools(runtime, TOOLS) };
    const { content } = stream ? await client.messages.stream(body).finalMessage() : await client.messages.create(body);
    const results = await runAnthropicToolUses(runtime, content);
    if (results.length === 0) return content.map((block) => (block.type === "text" ? block.text : "")).join("");
    messages.push({ role: "assistant", content }, { role: "user", content: results });
  }
}

async function aiSdk({ runtime }: Place, model: LanguageModel, stream: boolean): Promise<string> {
  const options = {
    model,
    prompt: ASKED,
    tools: aiSdkTools(runtime, TOOLS),
    stopWhen: stepCountIs(5),
    maxRetries: 0,
    maxOutputTokens: 1000,
  };
  if (!stream) return (await generateText(options)).text;
  let last = "";
  for await (const part of streamText({ ...options, onError: () => undefined }).fullStream) {
    if (part.type === "error") throw part.error;
    if (part.type === "start-step") last = "";
    if (part.type === "text-delta") last += part.text;
  }
  return last;
}

const byOpenAi = ({ model }: Place): LanguageModel =>
  createOpenAI({ apiKey: KEY, baseURL: `${model.url}/v1` }).chat("gpt-test");
const byAnthropic = ({ model }: Place): LanguageModel =>
  createAnthropic({ apiKey: KEY, baseURL: `${model.url}/v1` })("claude-test");

// oxfmt-ignore
const CLIENTS: readonly { readonly title: string; readonly loop: Loop; readonly streams: boolean }[] = [
  { title: "openai, chat completions",            streams: false, loop: (place) => chat(place, false) },
  { title: "openai, chat completions, streamed",  streams: true,  loop: (place) => chat(place, true) },
  { title: "openai, responses",                   streams: false, loop: (place) => responses(place, false) },
  { title: "openai, responses, streamed",         streams: true,  loop: (place) => responses(place, true) },
  { title: "anthropic, key",                      streams: false, loop: (place) => anthropic(place, { stream: false, apiKey: KEY, authToken: null }) },
  { title: "anthropic, key, streamed",            streams: true,  loop: (place) => anthropic(place, { stream: true, apiKey: KEY, authToken: null }) },
  { title: "anthropic, bearer token",             streams: false, loop: (place) => anthropic(place, { stream: false, apiKey: null, authToken: KEY }) },
  { title: "anthropic, bearer token, streamed",   streams: true,  loop: (place) => anthropic(place, { stream: true, apiKey: null, authToken: KEY }) },
  { title: "ai, generateText with OpenAI",        streams: false, loop: (place) => aiSdk(place, byOpenAi(place), false) },
  { title: "ai, streamText with OpenAI",          streams: true,  loop: (place) => aiSdk(place, byOpenAi(place), true) },
  { title: "ai, generateText with Anthropic",     streams: false, loop: (place) => aiSdk(place, byAnthropic(place), false) },
  { title: "ai, streamText with Anthropic",       streams: true,  loop: (place) => aiSdk(place, byAnthropic(place), true) },
];

test.each(CLIENTS)(
  "a loop of $title makes calls by its adapter, and the model is told what became of them",
  async (each) => {
    const { runtime, make, events } = await scratch();
    await make({ "root/a.txt": "hello", "outside.txt": "not for tools" });
    const model = await startFakeModel({ script: SCRIPT, key: KEY });
    onTestFinished(() => model.close());

    expect(await each.loop({ runtime, model })).toBe(ANSWER);

    expect(model.requests.map(({ status, stream }) => ({ status, stream }))).toEqual([
      { status: 200, stream: each.streams },
      { status: 200, stream: each.streams },
    ]);
    const told = JSON.stringify(model.requests[1]?.body);
    expect(told).toContain("ok\\na.txt");
    expect(told).toContain("failed: PathTraversalBlocked");
    expect(told).not.toContain("not for tools");
    const ended = (await events()).filter(({ type }) => type === "tool_call.completed" || type === "tool_call.failed");
    expect(ended.map(({ type, payload }) => `${type} ${String(payload["tool_name"])}`).toSorted()).toEqual([
      "tool_call.completed ls",
      "tool_call.failed read",
    ]);
  },
);

test("a client with a wrong key, or none, is refused as the real servers refuse it", async () => {
  const { runtime } = await scratch();
  const model = await startFakeModel({ script: SCRIPT, key: "another" });
  onTestFinished(() => model.close());
  for (const { loop } of CLIENTS) {
    const problem: unknown = await loop({ runtime, model }).catch((error: unknown) => error);
    expect(problem).toMatchObject({ message: expect.stringMatching(/invalid x-api-key|Incorrect API key/) as unknown });
  }
});
