import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Round } from "./script.ts";
import { startFakeModel } from "./server.ts";
import type { FakeModel, FakeModelOptions } from "./server.ts";

/** The clients that people use, at their lowest level. `shows`: whether the format tells what was thought. */
// oxfmt-ignore
const CLIENTS = [
  { title: "OpenAI chat completions", shows: false, create: (url: string) => createOpenAI({ baseURL: `${url}/v1`, apiKey: "k" }).chat("gpt-4.1") },
  { title: "OpenAI responses",        shows: true,  create: (url: string) => createOpenAI({ baseURL: `${url}/v1`, apiKey: "k" }).responses("gpt-5") },
  { title: "Anthropic messages",      shows: true,  create: (url: string) => createAnthropic({ baseURL: `${url}/v1`, apiKey: "k" })("claude-sonnet-4-5") },
  { title: "Gemini",                  shows: true,  create: (url: string) => createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey: "k" })("gemini-2.5-pro") },
  { title: "Gemini of the third generation", shows: true, create: (url: string) => createGoogleGenerativeAI({ baseURL: `${url}/v1beta`, apiKey: "k" })("gemini-3-pro") },
  { title: "a compatible server",     shows: true,  create: (url: string) => createOpenAICompatible({ name: "local", baseURL: `${url}/compatible/v1`, apiKey: "k", includeUsage: true })("qwen3") },
] as const satisfies readonly { title: string; shows: boolean; create(url: string): LanguageModelV4 }[];

const TOOLS: NonNullable<LanguageModelV4CallOptions["tools"]> = [
  {
    type: "function",
    name: "read",
    description: "Reads a file",
    inputSchema: {
      type: "object",
      properties: { path: { type: "string" } },
      required: ["path"],
      additionalProperties: false,
    },
  },
];

async function open(options: FakeModelOptions): Promise<FakeModel> {
  const model = await startFakeModel(options);
  onTestFinished(() => model.close());
  return model;
}

type Content = Awaited<ReturnType<LanguageModelV4["doGenerate"]>>["content"];

interface Answer {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: unknown }[];
  readonly finish: string;
  readonly usage: {
    readonly input: number | undefined;
    readonly output: number | undefined;
    readonly cached: number | undefined;
  };
  /** As it is sent back. */
  readonly content: Content;
}

/** A prompt, asked whole or as a stream: both ways give the same. */
async function ask(model: LanguageModelV4, prompt: LanguageModelV4Prompt, isStream: boolean): Promise<Answer> {
  const { content, finishReason, usage } = isStream
    ? await collect(await model.doStream({ prompt, tools: TOOLS }))
    : await model.doGenerate({ prompt, tools: TOOLS });
  const textOf = (type: "text" | "reasoning"): string =>
    content.map((part) => (part.type === type ? part.text : "")).join("");
  return {
    reasoning: textOf("reasoning"),
    text: textOf("text"),
    calls: content.flatMap((part) =>
      part.type === "tool-call"
        ? [{ id: part.toolCallId, name: part.toolName, input: JSON.parse(part.input) as unknown }]
        : [],
    ),
    finish: finishReason.unified,
    usage: { input: usage.inputTokens.total, output: usage.outputTokens.total, cached: usage.inputTokens.cacheRead },
    content,
  };
}

type Generated = Pick<Awaited<ReturnType<LanguageModelV4["doGenerate"]>>, "content" | "finishReason" | "usage">;

async function collect({ stream }: Awaited<ReturnType<LanguageModelV4["doStream"]>>): Promise<Generated> {
  const content: Content = [];
  const open = new Map<string, { type: "text" | "reasoning"; text: string; providerMetadata?: never }>();
  for await (const part of stream) {
    if (part.type === "error") throw part.error;
    if (part.type === "text-start" || part.type === "reasoning-start") {
      const begun = { type: part.type === "text-start" ? ("text" as const) : ("reasoning" as const), text: "" };
      open.set(part.id, begun);
      content.push(begun);
    }
    if (part.type === "text-delta" || part.type === "reasoning-delta") open.get(part.id)!.text += part.delta;
    if ("id" in part && "providerMetadata" in part && part.providerMetadata !== undefined && open.has(part.id))
      Object.assign(open.get(part.id)!, { providerMetadata: part.providerMetadata });
    if (part.type === "tool-call") content.push(part);
    if (part.type === "finish") return { content, finishReason: part.finishReason, usage: part.usage };
  }
  throw new Error("the stream ended without an end");
}

function user(text: string): LanguageModelV4Prompt[number] {
  return { role: "user", content: [{ type: "text", text }] };
}

/** What a client says after an answer with calls: the answer as it came, then a result for each call. */
function goOn({ content, calls }: Answer): LanguageModelV4Prompt {
  const back = content.map((part) => {
    const { providerMetadata, ...rest } = part as unknown as { providerMetadata?: Record<string, never> };
    const input = part.type === "tool-call" ? { input: JSON.parse(part.input) as unknown } : {};
    return { ...rest, ...input, ...(providerMetadata === undefined ? {} : { providerOptions: providerMetadata }) };
  });
  return [
    { role: "assistant", content: back as never },
    {
      role: "tool",
      content: calls.map(({ id, name }) => ({
        type: "tool-result",
        toolCallId: id,
        toolName: name,
        output: { type: "text", value: `what is in ${id}` },
      })),
    },
  ];
}

const TEXT = "Grüße – 你好 🙂, a text that is longer than one piece of a stream";
const USAGE = { input_tokens: 1000, output_tokens: 50, cached_input_tokens: 400, reasoning_tokens: 20 };
const READ_A = { name: "read", arguments: { path: "ä/a.ts" } };
const READ_B = { name: "read", arguments: { path: "b with a longer name.ts" } };

// oxfmt-ignore
const ROUNDS: readonly { readonly title: string; readonly round: Round; readonly finish: string }[] = [
  { title: "text",                       round: { text: TEXT, usage: USAGE },                        finish: "stop" },
  { title: "one call",                   round: { calls: [READ_A], usage: USAGE },                   finish: "tool-calls" },
  { title: "text and parallel calls",    round: { text: TEXT, calls: [READ_A, READ_B], usage: USAGE }, finish: "tool-calls" },
  { title: "reasoning and text",         round: { reasoning: "Thinking of it…", text: TEXT, usage: USAGE }, finish: "stop" },
  { title: "reasoning, text and calls",  round: { reasoning: "Thinking of it…", text: TEXT, calls: [READ_A, READ_B], usage: USAGE }, finish: "tool-calls" },
  { title: "text cut by its length",     round: { text: TEXT, finish: "length", usage: USAGE },      finish: "length" },
];

for (const { title: client, shows, create } of CLIENTS) {
  describe(client, () => {
    for (const isStream of [false, true]) {
      for (const { title, round, finish } of ROUNDS) {
        test(`${title} is understood, ${isStream ? "streamed" : "whole"}, and may be sent back`, async () => {
          const server = await open({ script: { rounds: [round, { text: "done" }] } });
          const model = create(server.url);
          const prompt = [{ role: "system" as const, content: "Be brief" }, user("hello")];

          const answer = await ask(model, prompt, isStream);

          expect(answer.text).toBe(round.text ?? "");
          expect(answer.reasoning).toBe(shows ? (round.reasoning ?? "") : "");
          expect(answer.calls.map(({ name, input }) => ({ name, arguments: input }))).toEqual(round.calls ?? []);
          expect(new Set(answer.calls.map(({ id }) => id)).size).toBe(round.calls?.length ?? 0);
          expect(answer.finish).toBe(finish);
          expect(answer.usage).toEqual({ input: 1000, output: 50, cached: 400 });

          const next = finish === "tool-calls" ? goOn(answer) : [...goOn(answer).slice(0, 1), user("and?")];
          expect(await ask(model, [...prompt, ...next], isStream)).toMatchObject({ text: "done" });
          expect(server.requests.map(({ status, round: number, key }) => [status, number, key])).toEqual([
            [200, 1, "k"],
            [200, 2, "k"],
          ]);
        });
      }
    }

    test("a script that is over is said to be over", async () => {
      const model = create((await open({ script: { rounds: [{ text: "one" }] } })).url);
      await ask(model, [user("1")], true);
      await expect(ask(model, [user("2")], true)).rejects.toThrow("the script is over, and this asks for round 2");
    });

    test("arguments that are not valid JSON arrive as the model wrote them, if the format can express it", async () => {
      const server = await open({ script: { rounds: [{ calls: [{ name: "read", arguments_text: '{"path": ' }] }] } });
      const { stream } = await create(server.url).doStream({ prompt: [user("hello")], tools: TOOLS });
      const seen: string[] = [];
      for await (const part of stream) {
        if (part.type === "tool-call") seen.push(part.input);
        if (part.type === "finish") seen.push(part.finishReason.unified);
      }
      if (client.startsWith("Gemini")) expect(seen).toEqual(["error"]);
      else expect(seen).toContain('{"path": ');
    });
  });
}
